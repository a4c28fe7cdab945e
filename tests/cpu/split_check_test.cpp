// `test_splits`: splits that end in the same bits, and an optimizer that behaves differently each time.
#include <gtest/gtest.h>

#include <gradual/check/test_splits.hpp>
#include <sstream>

#include "../error_of.hpp"
#include "../models.hpp"

namespace split_check_test {

using namespace models;

const auto x = numbers(50 * 9);
const auto y = labels(50, 5);

TEST(SplitCheck, SplitsThatEndInTheSameBits) {
  constexpr auto adam = Accumulate{Adam{}};
  const SplitCheck result = test_splits(ClassifierNet{}, adam, {SplitCheck::Split(5, 10), {7, 1, 42}}, x, y);
  EXPECT_TRUE(result.mistakes.empty());
  ASSERT_EQ(result.rows.size(), 3u);
  EXPECT_EQ(result.rows[0].split, SplitCheck::Split{50});
  EXPECT_LT(result.rows[1].bytes, result.rows[0].bytes);
  for (const SplitCheck::Row& row : result.rows) EXPECT_EQ(row.differing_bits, 0);
  std::ostringstream text;
  text << result;
  EXPECT_EQ(text.str().find("micro-batches                         bytes   differing bits\n{50} "), 0u) << text.str();
  EXPECT_NE(text.str().find("\n5 x 10 "), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("\n{7,1,42} "), std::string::npos) << text.str();
}

TEST(SplitCheck, WindowsThatAreGivenTwice) {
  EXPECT_TRUE(test_splits(ClassifierNet{}, Accumulate{Sam{Adam{}, 0.05f}}, {{30, 20}}, x, y).mistakes.empty());
}

/// Takes larger steps the more steps the program has made.
struct Drifting {
  static inline float steps = 0;
  void step(std::span<const ParameterView> parameters, std::span<const GradientView> gradients) {
    steps += 1;
    for (std::size_t p = 0; p < parameters.size(); ++p)
      for (std::size_t i = 0; i < parameters[p].values.size(); ++i)
        parameters[p].values[i] -= 0.01f * steps * gradients[p].values[i];
  }
};

TEST(SplitCheck, NamesASplitThatEndsInOtherBits) {
  const SplitCheck result = test_splits(ClassifierNet{}, Accumulate{Drifting{}}, {{25, 25}}, x, y);
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[0].differing_bits, 0);
  EXPECT_GT(result.rows[1].differing_bits, 0);
  ASSERT_EQ(result.mistakes.size(), 1u);
  EXPECT_EQ(result.mistakes[0], "2 x 25: " + std::to_string(result.rows[1].differing_bits) + " bits differ");
}

TEST(SplitCheck, WindowsWithoutAStepAreNoAgreement) {
  const std::vector<float> values(6 * 4), targets(6 * 3), weights(6);
  const SplitCheck result = test_splits(WeightedNet{}, Accumulate{Sgd{}}, {{4, 2}}, values, targets, weights);
  const std::vector<std::string> none = {"{6}: 0 of 3 windows made a step", "{4,2}: 0 of 3 windows made a step"};
  EXPECT_EQ(result.mistakes, none);
}

TEST(SplitCheck, CountsTheBitsThatDiffer) {
  std::vector<std::byte> a(3), b(3);
  EXPECT_EQ(differing_bits(a, b), 0);
  b[1] = std::byte{5};
  EXPECT_EQ(differing_bits(a, b), 2);
  a.resize(1);
  EXPECT_EQ(differing_bits(a, b), 16);
}

TEST(SplitCheck, ASplitOfOtherSamplesIsRefused) {
  EXPECT_EQ(error_of<OptionError>([] { test_splits(ClassifierNet{}, Accumulate{Sgd{}}, {{25, 25}, {25, 24}}, x, y); }),
            "test_splits: micro-batches of {25,24} are 49 samples, but given are 50");
  EXPECT_EQ(error_of<OptionError>([] { test_splits(ClassifierNet{}, Accumulate{Sgd{}}, {{51, -1}}, x, y); }),
            "test_splits: a micro-batch without samples in {51,-1}");
  EXPECT_EQ(error_of<OptionError>([] { test_splits(ClassifierNet{}, Accumulate{Sgd{}, 2}, {{25, 25}}, x, y); }),
            "test_splits: windows of 2 calls hold other samples in each split");
  EXPECT_EQ(error_of<OptionError>([] { test_splits(ClassifierNet{}, Accumulate{Sgd{}}, {{}}, x, y); }),
            "test_splits: micro-batches of {} are 0 samples, but given are 50");
}

}  // namespace split_check_test
