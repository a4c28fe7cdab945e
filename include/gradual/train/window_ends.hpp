#pragma once
#include <string>

#include <gradual/train/averages.hpp>
#include <gradual/train/session_options.hpp>

namespace gradual::detail {

/// The ends of a session's windows.
class WindowEnds {
 public:
  /// `options`: checked. `calls`: calls per window; 0: windows are counted in samples. Errors: OptionError where they are
  /// counted in two ways.
  WindowEnds(const SessionOptions& options, std::int64_t calls);

  std::int64_t calls() const { return calls_; }
  /// Returns the number of samples of a full window, the one after `steps` others. Errors: OptionError for a negative number,
  /// NaN, or a schedule's 0.
  std::int64_t samples(std::int64_t steps) const;
  /// Returns the weight that fills it; infinite where windows are counted in samples alone. Errors: as `samples`.
  double weight(std::int64_t steps) const;

 private:
  [[noreturn, gnu::cold]] static void refuse(std::int64_t steps, const std::string& wanted);

  std::int64_t calls_, most_;
  Scalar samples_, weight_;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/window_ends.ipp>
#endif
