#pragma once
#include <algorithm>
#include <cstdio>
#include <gradual/check/test_splits.hpp>

#include "data.hpp"
#include "model.hpp"

namespace digits {

inline constexpr std::size_t window = 512;
inline constexpr int windows = 100;
using Split = SplitCheck::Split;

/// How the gradients of a window's micro-batches are combined.
enum class How {
  accumulate,      ///< the library's way: the same bits as the large batch
  mean_of_means,   ///< control: the mean of the micro-batches' means
  sum_of_sums      ///< control: each micro-batch summed on its own, then the sums added
};

struct Outcome {
  std::vector<std::byte> state;  ///< parameters and optimizer state
  Split seen;                    ///< the first window's micro-batches, as kernels saw them
  std::int64_t arena = 0;
  double seconds_per_step = 0;
};

/// Trains for `windows` windows of 512 samples, each cut into the micro-batches of `split`.
template <class Rule>
Outcome train(const Accumulate<Rule>& rule, const Split& split, How how, const Data& data) {
  Session session(Net{}, rule, {.global_batch = window, .micro_batch = std::ranges::max(split), .seed = 1});
  const std::size_t whole = data.labels.size() / window;  // full windows in the data set
  Outcome result;
  std::vector<float> sum;
  const Stopwatch watch;
  for (int w = 0; w < windows; ++w) {
    std::size_t at = static_cast<std::size_t>(w) % whole * window;
    sum.assign(Net::parameter_elements, 0.0f);
    for (const std::int64_t count : split) {
      const auto part = static_cast<std::size_t>(count);
      session.accumulate(std::span(data.images).subspan(at * 64, part * 64), std::span(data.labels).subspan(at, part));
      at += part;
      if (w == 0) result.seen.push_back(session.last_micro_batch());
      if (how == How::accumulate) continue;
      session.close_blocks();
      const float scale = how == How::mean_of_means ? static_cast<float>(part) : 1.0f;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += session.accumulator()[i] / scale;
      session.discard();
    }
    if (how == How::mean_of_means) session.apply(sum, static_cast<double>(split.size()));
    if (how == How::sum_of_sums) session.apply(sum, static_cast<double>(window));
  }
  result.seconds_per_step = watch.seconds() / windows;
  result.arena = session.memory().total();
  for (auto part : {session.parameter_bytes(), session.optimizer_state_bytes()})
    result.state.insert(result.state.end(), part.begin(), part.end());
  return result;
}

/// Prints what each split costs and how many bits it changes. Returns whether the kernels saw exactly these splits and only
/// the controls differ.
template <class Rule>
bool compare_splits(const char* name, const Accumulate<Rule>& rule, const Data& data) {
  const Split large{512}, even(8, 64), ragged{7, 100, 1, 300, 104};
  struct Row {
    const char* what;
    Split split;
    How how;
  };
  const Row rows[] = {{"accumulated", large, How::accumulate},
                      {"accumulated", even, How::accumulate},
                      {"accumulated", ragged, How::accumulate},
                      {"control: mean of means", ragged, How::mean_of_means},
                      {"control: sums added", even, How::sum_of_sums}};
  std::printf("\n%s, %d steps of %zu samples\n", name, windows, window);
  std::printf("  %-24s %-22s %12s %14s %16s\n", "", "micro-batches", "arena bytes", "time per step", "differing bits");
  const Outcome reference = train(rule, large, How::accumulate, data);
  bool right = true;
  for (const Row& row : rows) {
    const Outcome outcome = train(rule, row.split, row.how, data);
    const std::int64_t bits = differing_bits(reference.state, outcome.state);
    right = right && outcome.seen == row.split && (bits == 0) == (row.how == How::accumulate);
    std::printf("  %-24s %-22s %12lld %11.0f us %16lld\n", row.what, SplitCheck::text(outcome.seen).c_str(),
                static_cast<long long>(outcome.arena), 1e6 * outcome.seconds_per_step, static_cast<long long>(bits));
  }
  return right;
}

}  // namespace digits
