// The choice of cuts to keep, against the optimum and the square-root rule: on chains of equal links, on the links of
// VGG-16, and on random ones.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "../optimal_cuts.hpp"

namespace cuts_test {

using namespace gradual;
using namespace optimal_cuts;

struct Link {
  std::int64_t bytes, work;
};

constexpr std::vector<Cut> chain(const std::vector<Link>& links) {
  std::vector<Cut> cuts(1);
  for (const Link& link : links) {
    const Cut& before = cuts.back();
    cuts.push_back({before.node + 1, before.saved + link.bytes, link.bytes, before.work + link.work});
  }
  cuts.push_back({cuts.back().node + 1, cuts.back().saved, 0, cuts.back().work});
  return cuts;
}
constexpr std::vector<Cut> equal_chain(std::size_t links) { return chain(std::vector<Link>(links, Link{1, 1})); }

// At compile time: 19 values in room for 8, 4 and 2 are recomputed 11, 24 and 153 times in all.
constexpr std::int64_t repeated(std::size_t links, std::int64_t most) {
  const CutChoice choice(equal_chain(links), most);
  return choice.repeated(0, choice.end(), choice.most());
}
static_assert(repeated(19, 19) == 0 && repeated(19, 18) == 1 && repeated(19, 8) == 11);
static_assert(repeated(19, 4) == 24 && repeated(19, 2) == 153);
// Room for half a link more changes nothing, and room for fewer than two links is not enough.
static_assert(CutChoice(chain(std::vector<Link>(9, Link{2, 1})), 9).most() == 8);
static_assert(CutChoice(equal_chain(9), 0).most() == 2);

/// Returns the most bytes that are alive at once if the choice is followed.
std::int64_t peak(const CutChoice& choice, std::size_t from, std::size_t to, std::int64_t kept) {
  std::int64_t most = 0;
  for (const std::size_t cut : choice.between(from, to, choice.most() - kept)) {
    most = std::max(most, peak(choice, from, cut, kept));
    kept += choice[cut].crossing;
    from = cut;
  }
  return std::max(most, kept + choice[to].saved - choice[from].saved);
}

/// Checks the choice for every amount of room. Returns the mean ratio of its total work to the optimum's, both with the first
/// computation of all links.
double over_optimum(const Cuts& cuts, std::int64_t step) {
  Optimum optimum(cuts);
  const std::int64_t all = cuts.back().saved, work = cuts.back().work;
  const std::int64_t least = CutChoice(cuts, 1).most();
  EXPECT_LT(optimum.work(least), impossible);
  EXPECT_EQ(optimum.work(least - 1), impossible) << "less than " << least << " would have been enough";
  double sum = 0;
  int count = 0;
  for (std::int64_t most = least; most <= all; most += step, ++count) {
    const CutChoice choice(cuts, most);
    EXPECT_LE(choice.most(), most);
    EXPECT_LE(peak(choice, 0, choice.end(), 0), choice.most());
    const std::int64_t again = choice.repeated(0, choice.end(), choice.most());
    EXPECT_GE(again, optimum.work(most));
    sum += static_cast<double>(work + again) / static_cast<double>(work + optimum.work(most));
  }
  return sum / count;
}

TEST(Cuts, OfEqualLinksAreOptimal) {
  for (const std::size_t links : {1, 2, 3, 9, 10, 16, 19}) EXPECT_EQ(over_optimum(equal_chain(links), 1), 1) << links;
  EXPECT_LE(over_optimum(equal_chain(60), 1), 1.01);
}

TEST(Cuts, NeedNoMoreThanTheSquareRootRule) {
  for (const std::size_t links : {10, 19, 50, 100}) {
    const SquareRootRule rule(equal_chain(links));
    const CutChoice same(equal_chain(links), rule.most), half(equal_chain(links), rule.most / 2);
    const std::int64_t again = same.repeated(0, same.end(), same.most());
    EXPECT_LE(again, rule.work);
    EXPECT_EQ(half.most(), rule.most / 2);
    std::printf(
        "%3zu links: the rule finds %2lld at once and computes %2lld again; here %2lld, and %3lld in half of its "
        "room\n",
        links, static_cast<long long>(rule.most), static_cast<long long>(rule.work), static_cast<long long>(again),
        static_cast<long long>(half.repeated(0, half.end(), half.most())));
  }
}

TEST(Cuts, OfVgg16AreCloseToTheOptimum) {
  std::vector<Link> links;  // thousands of outputs, millions of multiply-adds; images of 224 x 224
  std::int64_t channels = 3, side = 224;
  for (const auto& [outputs, convolutions] : {std::pair{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    for (int i = 0; i < convolutions; ++i, channels = outputs)
      links.push_back({outputs * side * side / 1000, 9 * channels * outputs * side * side / 1'000'000});
    side /= 2;
    links.push_back({outputs * side * side / 1000, 1});
  }
  for (const std::int64_t work : {103, 17, 4}) links.push_back({4, work});
  const double mean = over_optimum(chain(links), 97);
  std::printf("VGG-16: %.3f of the optimum's work\n", mean);
  EXPECT_LE(mean, 1.04);
}

TEST(Cuts, OfRandomLinksAreCloseToTheOptimum) {
  std::mt19937 random(5);
  double sum = 0;
  constexpr int chains = 40;
  for (int i = 0; i < chains; ++i) {
    std::vector<Link> links(6 + random() % 10);
    for (Link& link : links)
      link = {static_cast<std::int64_t>(1 + random() % 8), static_cast<std::int64_t>(1 + random() % 4)};
    sum += over_optimum(chain(links), 1);
  }
  std::printf("random links: %.3f of the optimum's work\n", sum / chains);
  EXPECT_LE(sum / chains, 1.07);
}

}  // namespace cuts_test
