#pragma once
#include <gradual/train/second_evaluation.hpp>

#include <string>

#include <gradual/core/number_text.hpp>

namespace gradual::detail {

GRADUAL_ONCE void check_ends_known(const SessionOptions& options) {
  if (options.non_finite == NonFinite::drop_micro_batch)
    throw OptionError("Session: the optimizer evaluates each window twice, so none of its micro-batches can be dropped");
  if (is_given(options.window_weight))
    throw OptionError("Session: the optimizer evaluates each window twice, so windows cannot end at a weight");
}

GRADUAL_ONCE void check_room(std::int64_t samples, std::int64_t room) {
  if (samples > room)
    throw OptionError("accumulate: " + std::to_string(samples) + " samples, but " + std::to_string(room) +
                      " end the window; the optimizer evaluates each window twice, so none may go into the next");
}

GRADUAL_ONCE void check_given_again(std::int64_t samples, const Averages& window, std::int64_t first,
                                    const Averages& first_window) {
  if (samples != first || window.weight() != first_window.weight())
    throw DataError("the window must be given again: " + std::to_string(first) + " samples of weight " +
                    exact_text(first_window.weight()) + ", got " + std::to_string(samples) + " of weight " +
                    exact_text(window.weight()));
}

}  // namespace gradual::detail
