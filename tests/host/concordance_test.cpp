// Concordance against a count of all pairs, and its errors.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <gradual/gradual.hpp>

#include "../error_of.hpp"

namespace concordance_test {

using namespace gradual;

double counted(const std::vector<float>& scores, const std::vector<float>& times, const std::vector<std::int32_t>& events) {
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t j = 0; j < scores.size(); ++j)
      if (events[i] == 1 && (times[i] < times[j] || (times[i] == times[j] && events[j] == 0))) {
        right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
        ++pairs;
      }
  return right / pairs;
}

TEST(Concordance, IsTheShareOfPairsInTheirOrder) {
  EXPECT_EQ(concordance(std::vector{3.0, 2.0, 1.0}, std::vector{1, 2, 3}, std::vector{1, 1, 1}), 1);
  EXPECT_EQ(concordance(std::vector{1.0, 2.0, 3.0}, std::vector{1, 2, 3}, std::vector{1, 1, 1}), 0);
  EXPECT_EQ(concordance(std::vector{2.0, 2.0}, std::vector{1, 2}, std::vector{1, 0}), 0.5);
  EXPECT_EQ(concordance(std::vector{2.0, 1.0}, std::vector{1, 1}, std::vector{1, 0}), 1) << "who was there then is later";
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 50; ++repeat) {  // many ties of times and of scores
    std::vector<float> scores, times;
    std::vector<std::int32_t> events;
    for (int i = 0; i < 2 + repeat; ++i) {
      scores.push_back(static_cast<float>(random() % 7) - 3);
      times.push_back(static_cast<float>(random() % 9));
      events.push_back(static_cast<std::int32_t>(random() % 2));
    }
    const double expected = counted(scores, times, events), got = concordance(scores, times, events);
    EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << got << " and " << expected;
  }
}

TEST(Concordance, OfNoPairsIsNaN) {
  EXPECT_TRUE(std::isnan(concordance(std::vector{1.0, 2.0}, std::vector{1, 2}, std::vector{0, 0})));
  EXPECT_TRUE(std::isnan(concordance(std::vector{1.0, 2.0}, std::vector{1, 1}, std::vector{1, 1})));
  EXPECT_TRUE(std::isnan(concordance(std::vector<float>{}, std::vector<float>{}, std::vector<float>{})));
}

TEST(Concordance, RefusesWhatIsNoTimeAndNoEvent) {
  const std::vector<double> two{1, 2}, nan{1, NAN};
  EXPECT_EQ(error_of<DataError>([&] { concordance(two, std::vector{1}, two); }), "concordance: 2 scores, 1 times");
  EXPECT_EQ(error_of<DataError>([&] { concordance(two, two, std::vector{1}); }), "concordance: 2 scores, 1 events");
  EXPECT_EQ(error_of<DataError>([&] { concordance(nan, two, std::vector{1, 1}); }),
            "concordance: sample 1: a score that is NaN");
  EXPECT_EQ(error_of<DataError>([&] { concordance(two, nan, std::vector{1, 1}); }),
            "concordance: sample 1: a time that is NaN");
  EXPECT_EQ(error_of<DataError>([&] { concordance(two, two, two); }),
            "concordance: sample 1: event 2, which is not 0 or 1");
}

}  // namespace concordance_test
