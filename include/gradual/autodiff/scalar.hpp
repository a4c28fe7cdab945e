#pragma once
#include <cstdint>

#include <gradual/core/math/cos.hpp>

namespace gradual {

/// A number that may change from step to step: constant, or one of the schedules of `schedule::`.
struct Scalar {
  enum class Kind : unsigned char { constant, step, cosine } kind = Kind::constant;
  double value = 0, factor = 1, floor = 0;
  std::int64_t warmup = 0, period = 1;

  constexpr Scalar(double constant) : value(constant) {}

  /// The value at optimizer step 0, 1, 2, ...
  constexpr double at(std::int64_t step) const {
    if (kind == Kind::constant) return value;
    if (step < warmup) return value * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (kind == Kind::step) {
      double rate = value;
      for (std::int64_t i = (step - warmup) / period; i > 0; --i) rate *= factor;
      return rate;
    }
    if (step >= period) return floor;
    constexpr double pi = 3.14159265358979323846;
    const double progress = static_cast<double>(step - warmup) / static_cast<double>(period - warmup);
    return floor + 0.5 * (value - floor) * (1 + math::cos(pi * progress));
  }
};

namespace schedule {

/// `rate` times `factor` once every `every` steps (PyTorch's StepLR), after a linear warm-up.
constexpr Scalar step(double rate, std::int64_t every, double factor, std::int64_t warmup = 0) {
  Scalar s(rate);
  s.kind = Scalar::Kind::step;
  s.period = every > 0 ? every : 1;
  s.factor = factor;
  s.warmup = warmup;
  return s;
}

/// Linear warm-up to `rate`, then half a cosine down to `floor` at step `total` (Loshchilov and Hutter 2017).
constexpr Scalar cosine(double rate, std::int64_t total, std::int64_t warmup = 0, double floor = 0) {
  Scalar s(rate);
  s.kind = Scalar::Kind::cosine;
  s.period = total > warmup ? total : warmup + 1;
  s.warmup = warmup;
  s.floor = floor;
  return s;
}

}  // namespace schedule

}  // namespace gradual
