#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace gradual {

/// How noisy gradients are, measured between the small batches of a window. Its scale, tr Σ / |G|², is the batch for which
/// noise and gradient are equally large (McCandlish et al. 2018, arXiv:1812.06162): a much smaller one wastes steps, a
/// much larger one samples. One window tells little: add up many, and then ask for the scale.
struct GradientNoise {
  double gradient_squared = 0;  ///< |G|²: of the true gradient's square norm, without bias; may be below 0
  double variance = 0;          ///< tr Σ: of the variance of one sample's gradient, summed over parameters
  std::int64_t windows = 0;     ///< in which it was measured

  double scale() const { return variance / gradient_squared; }
  GradientNoise& operator+=(const GradientNoise& other) {
    gradient_squared += other.gradient_squared, variance += other.variance, windows += other.windows;
    return *this;
  }
};

namespace detail {

/// Σ of squares over gradients, and over what was added to them since they were looked at before.
struct GradientSquares {
  double all = 0, added = 0;

  /// Those of one parameter. `before`: empty where they were not looked at in this window.
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

/// The small batches of a window. With sums Sⱼ of gradients of weights wⱼ, and S and W of the window,
///   E|Sⱼ|² = wⱼ²|G|² + wⱼ tr Σ  and  E|S|² = W²|G|² + W tr Σ,
/// from which |G|² and tr Σ follow; for equal weights they are those of McCandlish et al., appendix A.1. A sample is a unit of
/// weight, so that a sample of weight 3 is as three.
class NoiseSums {
 public:
  bool empty() const { return weight_ == 0; }
  /// A small batch of this |Sⱼ|² has brought the window's weight to `weight`.
  void add(double squared, double weight) {
    squares_ += squared;
    weights_squared_ += (weight - weight_) * (weight - weight_);
    weight_ = weight;
  }
  /// A window of which a part was not seen is not measured.
  void give_up() { whole_ = false; }
  bool whole() const { return whole_; }

  /// After the last small batch of a window of |S|². Nothing where there was but one.
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
