#pragma once
#include <gradual/train/window_ends.hpp>

#include <limits>

#include <gradual/core/number_text.hpp>

namespace gradual::detail {

GRADUAL_ONCE WindowEnds::WindowEnds(const SessionOptions& options, std::int64_t calls)
    : calls_(calls), most_(options.global_batch), samples_(options.window_samples), weight_(options.window_weight) {
  if (calls != 0 && windows_vary(options))
    throw OptionError("Session: windows of calls take no .window_samples and no .window_weight");
}

GRADUAL_ONCE std::int64_t WindowEnds::samples(std::int64_t steps) const {
  if (!is_given(samples_)) return most_;
  const double wanted = samples_.at(steps);
  if (!(wanted > 0)) refuse(steps, brief_text(wanted) + " samples");
  if (wanted < 1) return 1;
  return wanted < static_cast<double>(most_) ? static_cast<std::int64_t>(wanted + 0.5) : most_;
}

GRADUAL_ONCE double WindowEnds::weight(std::int64_t steps) const {
  if (!is_given(weight_)) return std::numeric_limits<double>::infinity();
  const double wanted = weight_.at(steps);
  if (!(wanted > 0)) refuse(steps, "weight " + brief_text(wanted));
  return wanted;
}

GRADUAL_ONCE void WindowEnds::refuse(std::int64_t steps, const std::string& wanted) {
  throw OptionError("step " + std::to_string(steps + 1) + ": a window of " + wanted);
}

}  // namespace gradual::detail
