#pragma once
#include <gradual/autodiff/ops/statistics.hpp>
#include <gradual/nn/init.hpp>

namespace gradual::detail {

/// Returns whether x's last axis is a sample axis of this extent; if not, records a ShapeError that names the scale's layer.
constexpr bool check_width(Var x, const Parameter& scale, std::int64_t width, const char* layer) {
  if (!x.valid()) return false;
  const Shape& shape = x.shape();
  if (shape.rank > 0 && shape.batch_axis != shape.rank - 1 && shape.extent[shape.rank - 1] == width) return true;
  x.tape->fail(Message() << layer << ": needs a width of " << width << ", got " << shape, {x, scale.on(x)});
  return false;
}

/// Likewise rejects an ε below 0 or NaN.
constexpr bool check_epsilon(Var x, const Parameter& scale, double epsilon, const char* layer) {
  if (epsilon >= 0) return true;
  x.tape->fail(Message() << layer << ": an epsilon that is negative or NaN", {x, scale.on(x)});
  return false;
}

/// (x − mean)/√(variance + ε) over the last axis.
constexpr Var normalised(Var x, double epsilon) {
  const Var from_mean = centred(x, {-1});
  const Var deviation = sqrt(mean(from_mean * from_mean, {-1}, true) + epsilon);
  return from_mean / deviation;
}

}  // namespace gradual::detail

namespace gradual::nn {

/// y = (x − mean)/√(variance + ε) · scale + shift over the last axis (Ba, Kiros and Hinton 2016), for x: [batch, ..., width].
/// Parameters: scale [width], initially 1; shift [width], initially 0. Errors: ShapeError for another last extent, or an ε
/// below 0 or NaN.
class LayerNorm {
 public:
  constexpr LayerNorm(Scope scope, std::int64_t width, double epsilon = 1e-5)
      : scale_(scope.parameter("scale", Shape{width}, init::constant(1))),
        shift_(scope.parameter("shift", Shape{width}, init::constant(0))), width_(width), epsilon_(epsilon) {}

  constexpr Var operator()(Var x) const {
    if (!detail::check_width(x, scale_, width_, "layer_norm") ||
        !detail::check_epsilon(x, scale_, epsilon_, "layer_norm"))
      return {};
    const Var normal = in_float(x, [&](Var in) { return detail::normalised(in, epsilon_); });
    return normal * scale_ + shift_;
  }

 private:
  Parameter scale_, shift_;
  std::int64_t width_;
  double epsilon_;
};

/// y = x/√(mean of x² + ε) · scale over the last axis (Zhang and Sennrich 2019). Parameter: scale [width], initially 1.
/// Errors: ShapeError for another last extent, or an ε below 0 or NaN.
class RmsNorm {
 public:
  constexpr RmsNorm(Scope scope, std::int64_t width, double epsilon = 1e-5)
      : scale_(scope.parameter("scale", Shape{width}, init::constant(1))), width_(width), epsilon_(epsilon) {}

  constexpr Var operator()(Var x) const {
    if (!detail::check_width(x, scale_, width_, "rms_norm") ||
        !detail::check_epsilon(x, scale_, epsilon_, "rms_norm"))
      return {};
    const Var normal = in_float(x, [&](Var in) {
      const Var size = sqrt(mean(in * in, {-1}, true) + epsilon_);
      return in / size;
    });
    return normal * scale_;
  }

 private:
  Parameter scale_;
  std::int64_t width_;
  double epsilon_;
};

}  // namespace gradual::nn
