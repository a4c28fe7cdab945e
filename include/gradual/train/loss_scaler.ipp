#pragma once
#include <gradual/train/loss_scaler.hpp>

#include <algorithm>
#include <cmath>

namespace gradual::detail {

GRADUAL_ONCE bool LossScaler::is_scale(double scale) {
  int exponent = 0;
  return scale >= 1 && scale <= most && std::frexp(scale, &exponent) == 0.5;
}

GRADUAL_ONCE void LossScaler::resume(const LossScaler& other, bool begun) {
  if (double_after_ > 0 || begun) set(other.scale_, other.clean_);
  else forget_window();
}

GRADUAL_ONCE void LossScaler::forget_window() {
  if (double_after_ == 0) scale_ = chosen_;
}

GRADUAL_ONCE void LossScaler::end_window(bool finite, bool counts) {
  forget_window();
  if (double_after_ == 0 || (finite && !counts)) return;
  if (!finite) scale_ = std::max(scale_ / 2, 1.0);
  else if (++clean_ >= double_after_) scale_ = std::min(scale_ * 2, most);
  else return;
  clean_ = 0;
}

}  // namespace gradual::detail
