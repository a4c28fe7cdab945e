// The published vectors of Philox4x32-10 and Threefry2x32-20 (Random123's known answers), and what is made of its bits.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <gradual/core/philox_normal.hpp>
#include <gradual/core/shuffle.hpp>
#include <gradual/core/threefry.hpp>

using namespace gradual;

namespace {

constexpr bool gives_known_answers() {
  return philox(0, {}) == PhiloxWords{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}} &&
         philox(~std::uint64_t{0}, {{~0u, ~0u, ~0u, ~0u}}) == PhiloxWords{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}} &&
         philox(0x299f31d0a4093822, {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}) ==
             PhiloxWords{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
}
constexpr bool threefry_gives_known_answers() {
  return threefry(0, 0) == 0x99ba4efe6b200159 && threefry(~std::uint64_t{0}, ~std::uint64_t{0}) == 0xbb002be71cb996fc &&
         threefry(0x0370734413198a2e, 0x85a308d3243f6a88) == 0x483df7a0c4923a9c;
}
static_assert(threefry_gives_known_answers());
TEST(Threefry, GivesTheKnownAnswers) { EXPECT_TRUE(threefry_gives_known_answers()); }

static_assert(gives_known_answers());
TEST(Philox, GivesTheKnownAnswers) { EXPECT_TRUE(gives_known_answers()); }

TEST(Philox, UniformAndNormalHaveTheirMoments) {
  const int n = 100000;
  double mean = 0, square = 0, normal_mean = 0, normal_square = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const double u = uniform<float>(7, 3, i), z = normal<float>(7, 4, i);
    ASSERT_TRUE(u >= 0 && u < 1 && std::isfinite(z));
    mean += u, square += u * u, normal_mean += z, normal_square += z * z;
  }
  EXPECT_NEAR(mean / n, 0.5, 0.005);
  EXPECT_NEAR(square / n, 1 / 3.0, 0.005);
  EXPECT_NEAR(normal_mean / n, 0, 0.015);
  EXPECT_NEAR(normal_square / n, 1, 0.02);
}

TEST(Shuffle, IsAPermutationThatDependsOnSeedAndEpoch) {
  std::vector<std::int32_t> a(1000), b(1000), c(1000), seen(1000);
  shuffle(a, 1, 0);
  shuffle(b, 1, 0);
  shuffle(c, 1, 1);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  for (std::int32_t i : a) ++seen[static_cast<std::size_t>(i)];
  EXPECT_EQ(seen, std::vector<std::int32_t>(1000, 1));
}

}  // namespace
