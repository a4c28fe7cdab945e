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
