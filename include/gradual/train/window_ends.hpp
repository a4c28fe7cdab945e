#pragma once
#include <limits>
#include <string>

#include <gradual/train/averages.hpp>
#include <gradual/train/session_options.hpp>

namespace gradual::detail {

/// Where the windows of a session end.
class WindowEnds {
 public:
  /// `options`: checked. `calls`: of a window; 0: it is counted in samples. Errors: OptionError where it is counted in
  /// two ways.
  [[gnu::cold]] WindowEnds(const SessionOptions& options, std::int64_t calls)
      : calls_(calls), most_(options.global_batch), samples_(options.window_samples), weight_(options.window_weight) {
    if (calls != 0 && windows_vary(options))
      throw OptionError("Session: windows of calls have neither samples nor a weight");
  }

  std::int64_t calls() const { return calls_; }
  /// Samples of a full window, the one after `steps` others. Errors: OptionError for a schedule's number that is negative
  /// or none.
  std::int64_t samples(std::int64_t steps) const {
    const double wanted = samples_.at(steps);
    if (wanted == 0) return most_;
    if (!(wanted >= 0)) refuse(steps, std::to_string(wanted) + " samples");
    if (wanted < 1) return 1;
    return wanted < static_cast<double>(most_) ? static_cast<std::int64_t>(wanted + 0.5) : most_;
  }
  /// The weight that fills it; infinite where windows are counted in samples alone. Errors: as `samples`.
  double weight(std::int64_t steps) const {
    const double wanted = weight_.at(steps);
    if (!(wanted >= 0)) refuse(steps, "weight " + std::to_string(wanted));
    return wanted > 0 ? wanted : std::numeric_limits<double>::infinity();
  }

 private:
  [[noreturn, gnu::cold]] static void refuse(std::int64_t steps, const std::string& wanted) {
    throw OptionError("step " + std::to_string(steps + 1) + ": a window of " + wanted);
  }

  std::int64_t calls_, most_;
  Scalar samples_, weight_;
};

}  // namespace gradual::detail
