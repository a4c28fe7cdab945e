#pragma once
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <gradual/check/differing_bits.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/session.hpp>
#include <gradual/train/validate.hpp>

namespace gradual {

/// The sizes of a window's micro-batches.
using Split = std::vector<std::int64_t>;

namespace check {

/// "8 x 64", or "{7,100,1}".
inline std::string text_of(const Split& split) {
  if (split.size() > 1 && std::ranges::count(split, split[0]) == std::ssize(split))
    return std::to_string(split.size()) + " x " + std::to_string(split[0]);
  std::string text = "{";
  for (const std::int64_t part : split) text += (text.size() > 1 ? "," : "") + std::to_string(part);
  return text + "}";
}

/// Parameters and optimizer state of a session.
template <class Session>
std::vector<std::byte> state_of(const Session& session) {
  const auto parameters = session.parameter_bytes(), state = session.optimizer_state_bytes();
  std::vector<std::byte> all(parameters.begin(), parameters.end());
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

}  // namespace check

/// What `test_splits` has found, and a line for each split that ends in other bits.
struct SplitCheck {
  struct Row {
    Split split;
    std::int64_t bytes = 0;           ///< that the session allocates
    std::int64_t differing_bits = 0;  ///< of parameters and optimizer state, from those of the whole window
  };
  std::vector<Row> rows;
  std::vector<std::string> mistakes;

  friend std::ostream& operator<<(std::ostream& out, const SplitCheck& check) {
    char row[192];
    std::snprintf(row, sizeof(row), "%-28s %14s %16s\n", "micro-batches", "bytes", "differing bits");
    out << row;
    for (const Row& r : check.rows) {
      std::snprintf(row, sizeof(row), "%-28.120s %14lld %16lld\n", check::text_of(r.split).c_str(),
                    static_cast<long long>(r.bytes), static_cast<long long>(r.differing_bits));
      out << row;
    }
    return out;
  }
};

/// Trains three windows of all these samples at once, then cut in each of `splits`, from the same start, and counts the bits
/// of parameters and optimizer state that differ: `EXPECT_TRUE(test_splits(Net{}, optimizer, {{64, 64}, {7, 121}}, x,
/// y).mistakes.empty())`. It finds an op or an optimizer of one's own that is not the same function of the same numbers each
/// time. Errors: OptionError for a split of another number of samples, DataError for what is no data.
template <class Net, class Optimizer, class... Data>
SplitCheck test_splits(Net, const Optimizer& optimizer, const std::vector<Split>& splits, const Data&... data) {
  const std::int64_t samples = validate_inputs<typename Net::Training>(typename Net::InputTypes{}, std::span(data)...);
  for (const Split& split : splits)
    if (std::ranges::any_of(split, [](std::int64_t part) { return part < 1; }) ||
        std::reduce(split.begin(), split.end()) != samples)
      throw OptionError("test_splits: micro-batches of " + check::text_of(split) + " for " + std::to_string(samples) +
                        " samples");
  std::vector<std::byte> whole;
  SplitCheck result;
  const auto train = [&](const Split& split) {
    Session session(Net{}, optimizer, {.global_batch = samples, .micro_batch = std::ranges::max(split)});
    for (int step = 0; session.step_count() < 3 && step < 6; ++step) {  // twice, where each window is evaluated twice
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
    const std::vector<std::byte> state = check::state_of(session);
    if (whole.empty()) whole = state;
    result.rows.push_back({split, session.memory().total(), check::differing_bits(whole, state)});
    if (const std::int64_t bits = result.rows.back().differing_bits; bits != 0)
      result.mistakes.push_back(check::text_of(split) + ": " + std::to_string(bits) + " bits differ");
  };
  train({samples});
  for (const Split& split : splits) train(split);
  return result;
}

}  // namespace gradual
