// The host twin of a GPU: threads of a block take turns, in both orders, and a barrier that some never reach is reported.
#include <gtest/gtest.h>

#include <gradual/cuda/twin.hpp>

namespace twin_test {

using gradual::cuda::twin::Grid;

class Twin : public testing::TestWithParam<bool> {};

TEST_P(Twin, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<int> runs(3 * 70);
  const Grid grid(
      3, 70, [&] { ++runs[static_cast<std::size_t>(Grid::current().block() * 70 + Grid::current().thread())]; },
      GetParam());
  EXPECT_EQ(runs, std::vector<int>(3 * 70, 1));
}

TEST_P(Twin, ThreadsMeetAtBarriers) {
  int arrived = 0;
  std::vector<int> seen;
  const Grid grid(
      2, 40,
      [&] {
        for (int round = 0; round < 3; ++round) {
          ++arrived;
          Grid::current().barrier();
          seen.push_back(arrived);
          Grid::current().barrier();
        }
      },
      GetParam());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int>(i / 40 + 1) * 40);
  EXPECT_EQ(seen.size(), 2u * 3u * 40u);
}

TEST_P(Twin, LanesAreShuffled) {
  std::vector<int> got(64);
  const Grid grid(
      1, 64,
      [&] {
        const int thread = Grid::current().thread();
        got[static_cast<std::size_t>(thread)] = Grid::current().shuffle_down(thread, 8);
      },
      GetParam());
  for (int t = 0; t < 64; ++t) EXPECT_EQ(got[static_cast<std::size_t>(t)], t % 32 + 8 < 32 ? t + 8 : t);
}

TEST_P(Twin, ABarrierThatSomeNeverReach) {
  for (int again = 0; again < 2; ++again) {
    EXPECT_THROW(Grid(
                     1, 33,
                     [] {
                       if (Grid::current().thread() != 5) Grid::current().barrier();
                     },
                     GetParam()),
                 std::logic_error);
    int runs = 0;
    const Grid grid(
        1, 33, [&] { ++runs; }, GetParam());
    EXPECT_EQ(runs, 33);
  }
}

TEST_P(Twin, BlocksOfAClusterWaitForOneAnother) {
  constexpr int blocks = 3, threads = 40;
  std::vector<int> written(blocks * threads), read(written);
  Grid::run_cluster(
      blocks, threads,
      [&] {
        const int block = static_cast<int>(Grid::current().block()), thread = Grid::current().thread();
        EXPECT_EQ(Grid::current().blocks(), blocks);
        for (int round = 1; round < 4; ++round) {
          written[static_cast<std::size_t>(block * threads + thread)] = round;
          Grid::current().cluster_barrier();
          const int other = (block + 1) % blocks, last = threads - 1 - thread;
          read[static_cast<std::size_t>(block * threads + thread)] += written[static_cast<std::size_t>(other * threads + last)];
          Grid::current().cluster_barrier();
        }
      },
      GetParam());
  EXPECT_EQ(read, std::vector<int>(blocks * threads, 1 + 2 + 3));
}

TEST_P(Twin, ABlockOfAClusterThatIsWaitedForInVain) {
  const auto in_block_1 = [&](auto wait) {
    Grid::run_cluster(2, 33, [&] { if (Grid::current().block() == 1) wait(); }, GetParam());
  };
  EXPECT_THROW(in_block_1([] { Grid::current().cluster_barrier(); }), std::logic_error);
  EXPECT_THROW(in_block_1([] {
                 if (Grid::current().thread() != 5) Grid::current().barrier();
               }),
               std::logic_error);
  EXPECT_NO_THROW(in_block_1([] { Grid::current().barrier(); }));
}

INSTANTIATE_TEST_SUITE_P(Turns, Twin, testing::Bool(),
                         [](const auto& turn) { return std::string(turn.param ? "Backwards" : "Forwards"); });

}  // namespace twin_test
