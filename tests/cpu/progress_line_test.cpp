// What fits print of their progress.
#include <gtest/gtest.h>

#include <latch>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gradual/gradual.hpp>

namespace progress_line_test {

using namespace gradual;

/// Returns the line of epoch 2 of 4 after 3 complete ones, in a net with the metric `accuracy`, without the seconds at its end.
std::string line_of(const EpochRecord& record, Progress when = Progress::always) {
  Name accuracy;
  accuracy << "accuracy";
  testing::internal::CaptureStderr();
  ProgressLine(when, 3, 4).show(2, record, std::span(&accuracy, 1), 1250);
  const std::string said = testing::internal::GetCapturedStderr();
  return said.substr(0, said.find("  1.25e+03 samples/s"));
}

Averages averages_of(float loss, float accuracy) {
  Averages averages(1);
  const float* const of[] = {&loss, &accuracy};
  averages.add(of, nullptr, 1);
  return averages;
}

TEST(ProgressLines, SayWhatAnEpochHas) {
  EpochRecord record;
  EXPECT_EQ(line_of(record), "epoch 5/7");
  record.training = averages_of(2, 0.5f);
  EXPECT_EQ(line_of(record), "epoch 5/7  loss 2  accuracy 0.5");
  record.validation = averages_of(3, 0.25f), record.dropped_windows = 2;
  EXPECT_EQ(line_of(record), "epoch 5/7  loss 2  validation 3  accuracy 0.25  2 windows dropped, not finite");
  EXPECT_EQ(line_of(record, Progress::automatic), "") << "to what is no terminal";
}

TEST(ProgressLines, OfSeveralThreadsStayWhole) {
  constexpr int epochs = 2000;
  testing::internal::CaptureStderr();
  {
    std::latch begin(2);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&] {
        ProgressLine line(Progress::always, 0, epochs);
        begin.arrive_and_wait();
        for (int epoch = 1; epoch <= epochs; ++epoch) line.show(epoch, EpochRecord(), {}, 5);
      });
  }
  std::istringstream said(testing::internal::GetCapturedStderr());
  int lines = 0;
  for (std::string line; std::getline(said, line); ++lines)
    ASSERT_TRUE(line.starts_with("epoch ") && line.rfind("epoch") == 0 && line.ends_with(" s left")) << line;
  EXPECT_EQ(lines, 2 * epochs);
}

}  // namespace progress_line_test
