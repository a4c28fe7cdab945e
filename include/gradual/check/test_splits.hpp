#pragma once
#include <algorithm>
#include <iosfwd>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gradual/check/differing_bits.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/session.hpp>
#include <gradual/train/validate.hpp>

namespace gradual {

/// The result of `test_splits`.
struct SplitCheck {
  using Split = std::vector<std::int64_t>;  ///< the sizes of a window's micro-batches
  struct Row {
    Split split;
    std::int64_t bytes = 0;           ///< allocated by the session
    std::int64_t differing_bits = 0;  ///< of parameters and optimizer state, relative to the whole window
  };
  std::vector<Row> rows;
  std::vector<std::string> mistakes;  ///< a line for each split that ends with other bits, or misses steps

  /// Returns "8 x 64", or "{7,100,1}".
  static std::string text(const Split& split);

  friend std::ostream& operator<<(std::ostream& out, const SplitCheck& check);
};

/// Trains three windows of all these samples at once, then cut into each of `splits`, from the same start, and counts the bits
/// of parameters and optimizer state that differ: `EXPECT_TRUE(test_splits(Net{}, optimizer, {{64, 64}, {7, 121}}, x,
/// y).mistakes.empty())`. It finds a user-defined op or optimizer that is not the same function of the same numbers each time.
/// Errors: OptionError for a split of another number of samples, and for an optimizer that steps after a number of calls, which
/// are different samples in each split; DataError for invalid data.
template <class Net, class Optimizer, class... Data>
SplitCheck test_splits(Net, const Optimizer& optimizer, const std::vector<SplitCheck::Split>& splits, const Data&... data) {
  constexpr std::int64_t windows = 3;
  const std::int64_t samples = validate_inputs<typename Net::Training>(typename Net::InputTypes{}, std::span(data)...);
  if (const std::int64_t calls = calls_of(optimizer); calls != 0)
    throw OptionError("test_splits: windows of " + std::to_string(calls) + " calls hold other samples in each split");
  for (const auto& split : splits) {
    if (std::ranges::any_of(split, [](std::int64_t part) { return part < 1; }))
      throw OptionError("test_splits: a micro-batch without samples in " + SplitCheck::text(split));
    if (const std::int64_t sum = std::reduce(split.begin(), split.end()); sum != samples)
      throw OptionError("test_splits: micro-batches of " + SplitCheck::text(split) + " are " + std::to_string(sum) +
                        " samples, but given are " + std::to_string(samples));
  }
  std::vector<std::byte> whole;
  SplitCheck result;
  const auto train = [&](const SplitCheck::Split& split) {
    Session session(Net{}, optimizer, {.global_batch = samples, .micro_batch = std::ranges::max(split)});
    for (int pass = 0; session.step_count() < windows && pass < 2 * windows; ++pass) {  // some rules evaluate windows twice
      std::int64_t at = 0;
      for (const std::int64_t part : split) {
        const auto some = [&](auto values) {
          const std::size_t width = values.size() / static_cast<std::size_t>(samples);
          return values.subspan(static_cast<std::size_t>(at) * width, static_cast<std::size_t>(part) * width);
        };
        session.accumulate(some(std::span(data))...);
        at += part;
      }
    }
    const auto parameters = session.parameter_bytes(), states = session.optimizer_state_bytes();
    std::vector<std::byte> state(parameters.begin(), parameters.end());
    state.insert(state.end(), states.begin(), states.end());
    if (whole.empty()) whole = state;
    const std::int64_t bits = differing_bits(whole, state), steps = session.step_count();
    result.rows.push_back({split, session.memory().total(), bits});
    if (bits != 0) result.mistakes.push_back(SplitCheck::text(split) + ": " + std::to_string(bits) + " bits differ");
    if (steps < windows)
      result.mistakes.push_back(SplitCheck::text(split) + ": " + std::to_string(steps) + " of " + std::to_string(windows) +
                                " windows made a step");
  };
  train({samples});
  for (const auto& split : splits) train(split);
  return result;
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/check/test_splits.ipp>
#endif
