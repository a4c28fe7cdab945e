#pragma once
#include <cstdint>

#include <gradual/core/math/cos.hpp>
#include <gradual/core/math/pow.hpp>

namespace gradual {

/// A number that may change from step to step: constant, one of the schedules of `schedule::`, or a function. A
/// `loss_unscale` is what a session gives: 1 / the scale of the window's loss.
struct Scalar {
  enum class Kind : unsigned char { constant, step, exponential, polynomial, cosine, one_cycle, every, function, loss_unscale };
  Kind kind = Kind::constant;
  double value = 0, factor = 1, floor = 0;
  std::int64_t warmup = 0, period = 1;
  double (*function)(std::int64_t step) = nullptr;

  constexpr Scalar(double constant) : value(constant) {}

  /// The value at optimizer step 0, 1, 2, ...
  // One copy: it is asked once a step, and is long where it is inlined.
  [[gnu::noinline]] constexpr double at(std::int64_t step) const {
    if (kind == Kind::constant || kind == Kind::loss_unscale) return value;
    if (kind == Kind::function) return function(step);
    if (kind == Kind::every) return (step + 1) % period == 0 ? value : floor;
    if (kind == Kind::one_cycle)
      return step < warmup ? between(floor, value, step, warmup) : between(value, factor, step - warmup, period - warmup);
    if (step < warmup) return value * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (kind == Kind::step || kind == Kind::exponential)
      return value * power(factor, (step - warmup) / period);
    if (step >= period) return floor;
    const double progress = static_cast<double>(step - warmup) / static_cast<double>(period - warmup);
    if (kind == Kind::polynomial) return floor + (value - floor) * math::pow(1 - progress, factor);
    return floor + 0.5 * (value - floor) * (1 + math::cos(pi * progress));
  }

 private:
  static constexpr double pi = 3.14159265358979323846;

  /// Half a cosine from `from`, at step 0, to `to`, at step `steps` and after it.
  static constexpr double between(double from, double to, std::int64_t step, std::int64_t steps) {
    if (step >= steps) return to;
    return to + 0.5 * (from - to) * (1 + math::cos(pi * static_cast<double>(step) / static_cast<double>(steps)));
  }
  /// base^n, by squaring.
  static constexpr double power(double base, std::int64_t n) {
    double result = 1;
    for (; n > 0; n /= 2, base *= base)
      if (n % 2 == 1) result *= base;
    return result;
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

/// `rate` times `factor` in each step (PyTorch's ExponentialLR), after a linear warm-up.
constexpr Scalar exponential(double rate, double factor, std::int64_t warmup = 0) {
  Scalar s = step(rate, 1, factor, warmup);
  s.kind = Scalar::Kind::exponential;
  return s;
}

/// Linear warm-up to `rate`, then floor + (rate − floor)·(1 − progress)^power, which is `floor` from step `total` on.
constexpr Scalar polynomial(double rate, std::int64_t total, double power = 1, std::int64_t warmup = 0, double floor = 0) {
  Scalar s(rate);
  s.kind = Scalar::Kind::polynomial;
  s.period = total > warmup ? total : warmup + 1;
  s.warmup = warmup;
  s.factor = power;
  s.floor = floor;
  return s;
}

/// Linear warm-up to `rate`, then half a cosine down to `floor` at step `total` (Loshchilov and Hutter 2017).
constexpr Scalar cosine(double rate, std::int64_t total, std::int64_t warmup = 0, double floor = 0) {
  Scalar s = polynomial(rate, total, 1, warmup, floor);
  s.kind = Scalar::Kind::cosine;
  return s;
}

/// Half a cosine from most/25 up to `most` in the first `rise` steps, then half a cosine down to most/250000 in the last of
/// `total` steps (Smith and Topin 2018; the shape of PyTorch's OneCycleLR).
constexpr Scalar one_cycle(double most, std::int64_t total, std::int64_t rise) {
  Scalar s(most);
  s.kind = Scalar::Kind::one_cycle;
  s.warmup = rise > 0 ? rise : 1;
  s.period = total > s.warmup + 1 ? total - 1 : s.warmup + 1;
  s.floor = most / 25;
  s.factor = most / 25 / 1e4;
  return s;
}

/// `value` in every `period`-th step, else `otherwise`.
constexpr Scalar every(std::int64_t period, double value = 1, double otherwise = 0) {
  Scalar s(value);
  s.kind = Scalar::Kind::every;
  s.period = period > 0 ? period : 1;
  s.floor = otherwise;
  return s;
}

/// A function of the step: 0, 1, 2, ...
constexpr Scalar function(double (*of_step)(std::int64_t)) {
  Scalar s(0);
  s.kind = Scalar::Kind::function;
  s.function = of_step;
  return s;
}

}  // namespace schedule

}  // namespace gradual
