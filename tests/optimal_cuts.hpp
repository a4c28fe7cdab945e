#pragma once
// Baselines for choices of cuts: the optimum, and segments of equal length.
#include <algorithm>
#include <gradual/autodiff/cuts.hpp>
#include <limits>
#include <map>
#include <tuple>

namespace optimal_cuts {

using gradual::Cut;
using Cuts = std::vector<Cut>;

inline constexpr std::int64_t impossible = std::numeric_limits<std::int64_t>::max() / 4;

/// The least work of recomputation, over all choices of what is kept whenever a stretch is computed (Beaumont et al.,
/// Optimal Re-Materialization Strategies for Heterogeneous Chains, 2019, with cuts that cost nothing to store). Cubic in
/// the number of cuts, for each amount of room that can be left.
class Optimum {
 public:
  explicit Optimum(const Cuts& cuts) : cuts_(cuts) {}
  std::int64_t work(std::int64_t most) { return work(0, cuts_.size() - 1, most); }

 private:
  std::int64_t work(std::size_t from, std::size_t to, std::int64_t room) {
    if (cuts_[to].saved - cuts_[from].saved <= room) return 0;
    const auto [found, added] = known_.try_emplace({from, to, room}, impossible);
    if (!added) return found->second;
    std::int64_t least = impossible;
    for (std::size_t c = from + 1; c < to; ++c) {
      const std::int64_t rest = room - cuts_[c].crossing, again = cuts_[c - 1].work - cuts_[from].work;
      if (rest < 0 || again >= least) continue;
      const std::int64_t right = work(c, to, rest);
      if (right < least) least = std::min(least, again + right + work(from, c, room));
    }
    return known_[{from, to, room}] = least;
  }

  const Cuts& cuts_;
  std::map<std::tuple<std::size_t, std::size_t, std::int64_t>, std::int64_t> known_;
};

/// Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016: segments of equal length, of which all but the last are
/// recomputed. Uses the length that needs the least memory.
struct SquareRootRule {
  std::int64_t most = impossible, work = 0;

  explicit SquareRootRule(const Cuts& cuts) {
    const std::size_t end = cuts.size() - 1;
    for (std::size_t length = 1; length <= end; ++length) {
      std::int64_t kept = 0, alive = 0, again = 0;
      for (std::size_t from = 0; from < end; from += length) {
        const std::size_t to = std::min(from + length, end);
        kept += cuts[from].crossing;
        alive = std::max(alive, kept + cuts[to].saved - cuts[from].saved);
        if (to < end) again += cuts[to - 1].work - cuts[from].work;
      }
      if (alive < most) most = alive, work = again;
    }
  }
};

}  // namespace optimal_cuts
