#pragma once
#include <string>

#include <gradual/core/error.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/optim/loss_scale.hpp>

namespace gradual::detail {

/// A session's loss scale from window to window; 1 where its rule has none.
class LossScaler {
 public:
  static constexpr double most = 0x1p100;  ///< its inverse is a normal number too

  /// Errors: OptionError for a scale that is no power of two from 1 to 2^100, or a negative count.
  template <class Rule>
  static LossScaler of(const Rule& rule) {
    static_assert(loss_scales<Rule> <= 1, "LossScale: the loss can be scaled once");
    LossScaler result;
    if constexpr (loss_scales<Rule> == 1) {
      const LossScaling& scaling = loss_scaling_of(rule);
      if (!is_scale(scaling.start) || scaling.double_after < 0)
        throw OptionError("LossScale: a scale of " + brief_text(scaling.start) + " that is doubled after " +
                          std::to_string(scaling.double_after) + " windows: the scale must be a power of two from 1 to 2^100, "
                          "the windows at least 0");
      result.scale_ = result.chosen_ = scaling.start;
      result.double_after_ = scaling.double_after;
    }
    return result;
  }
  static bool is_scale(double scale);

  double scale() const { return scale_; }
  /// Returns the number of windows since the last overflow or doubling.
  std::int64_t clean_windows() const { return clean_; }
  void set(double scale, std::int64_t clean) { scale_ = scale, clean_ = clean; }
  /// Continues with another's scale; if this one's is a fixed number, only until the end of a window that has `begun`.
  void resume(const LossScaler& other, bool begun);
  /// Restores a fixed scale after a window that may have begun with another's.
  void forget_window();

  /// Ends a window in which all was `finite`, or not; it `counts` if a step was made of it.
  void end_window(bool finite, bool counts);

 private:
  double scale_ = 1, chosen_ = 1;
  std::int64_t double_after_ = 0, clean_ = 0;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/loss_scaler.ipp>
#endif
