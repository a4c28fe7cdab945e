#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace gradual {

/// The noise of gradients, measured between the small batches of a window. Its scale, tr Σ / |G|², is the batch size at which
/// noise and gradient are equally large (McCandlish et al. 2018, arXiv:1812.06162): a much smaller batch wastes steps, a much
/// larger one samples. One window says little: add up many, then ask for the scale.
struct GradientNoise {
  double gradient_squared = 0;  ///< |G|²: the true gradient's squared norm, estimated without bias; may be below 0
  double variance = 0;          ///< tr Σ: the variance of one sample's gradient, summed over parameters
  std::int64_t windows = 0;     ///< number of windows measured

  double scale() const { return variance / gradient_squared; }
  GradientNoise& operator+=(const GradientNoise& other) {
    gradient_squared += other.gradient_squared, variance += other.variance, windows += other.windows;
    return *this;
  }
};

namespace detail {

/// Sums of squares of gradients, and of what was added to them since they were last measured.
struct GradientSquares {
  double all = 0, added = 0;

  /// Adds one parameter's. `before`: empty where they have not been measured in this window.
  template <class Sum>
  void add(std::span<const Sum> now, std::span<const Sum> before) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      const double value = static_cast<double>(now[i]);
      const double more = before.empty() ? value : value - static_cast<double>(before[i]);
      all += value * value;
      added += more * more;
    }
  }
};

/// The small batches of a window. With Sⱼ the sums of gradients, wⱼ their weights, and S and W those of the window,
///   E|Sⱼ|² = wⱼ²|G|² + wⱼ tr Σ  and  E|S|² = W²|G|² + W tr Σ,
/// from which |G|² and tr Σ follow; for equal weights these are the estimates of McCandlish et al., appendix A.1. A sample
/// counts as its weight: one of weight 3 counts as three.
class NoiseSums {
 public:
  bool empty() const { return weight_ == 0; }
  /// Adds a small batch of this |Sⱼ|², which has brought the window's weight to `weight`.
  void add(double squared, double weight) {
    squares_ += squared;
    weights_squared_ += (weight - weight_) * (weight - weight_);
    weight_ = weight;
  }
  /// Marks the window as not measured, since part of it was not seen.
  void give_up() { whole_ = false; }
  bool whole() const { return whole_; }

  /// Returns the noise of a window of |S|² after its last small batch; empty where it had only one.
  GradientNoise of_window(double squared) const {
    const double more = weight_ * weight_ - weights_squared_;
    if (!whole_ || !(more > 0)) return {};
    const double gradient = (squared - squares_) / more;
    return {gradient, (squares_ - gradient * weights_squared_) / weight_, 1};
  }

 private:
  double squares_ = 0, weights_squared_ = 0, weight_ = 0;
  bool whole_ = true;
};

}  // namespace detail

}  // namespace gradual
