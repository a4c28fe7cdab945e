#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include <gradual/core/error.hpp>
#include <gradual/core/math/cos.hpp>
#include <gradual/core/math/pow.hpp>

namespace gradual {

/// A number that may change from step to step: a constant, one of the schedules of `schedule::`, a function or a variable. A
/// `loss_unscale` is supplied by a session: 1 / the scale of the window's loss.
struct Scalar {
  enum class Kind : unsigned char {
    constant, step, exponential, polynomial, cosine, one_cycle, every, function, variable, loss_unscale
  };
  Kind kind = Kind::constant;
  double value = 0, factor = 1, floor = 0;
  std::int64_t warmup = 0, period = 1;
  double (*function)(std::int64_t step) = nullptr;
  const double* variable = nullptr;

  constexpr Scalar(double constant) : value(constant) {}
  constexpr bool operator==(const Scalar&) const = default;

  /// Returns the value at optimizer step 0, 1, 2, ...
  // Not inlined: it is called once per step, and is long.
  template <class = void>  // so that gradual::kernels can have the code
  [[gnu::noinline]] constexpr double at(std::int64_t step) const {
    if (kind == Kind::constant || kind == Kind::loss_unscale) return value;
    if (kind == Kind::function) return function(step);
    if (kind == Kind::variable) return *variable;
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

  /// Returns half a cosine from `from`, at step 0, to `to`, from step `steps` on.
  static constexpr double between(double from, double to, std::int64_t step, std::int64_t steps) {
    if (step >= steps) return to;
    return to + 0.5 * (from - to) * (1 + math::cos(pi * static_cast<double>(step) / static_cast<double>(steps)));
  }
  /// Returns base^n, by squaring.
  static constexpr double power(double base, std::int64_t n) {
    double result = 1;
    for (; n > 0; n /= 2, base *= base)
      if (n % 2 == 1) result *= base;
    return result;
  }
};

namespace detail {
template <class A, class B>
concept NumbersOfAStep = (std::is_same_v<A, Scalar> && (std::is_same_v<B, Scalar> || std::is_arithmetic_v<B>)) ||
                         (std::is_arithmetic_v<A> && std::is_same_v<B, Scalar>);
template <class A>
constexpr Scalar refuse_arithmetic() {
  static_assert(!sizeof(A), "a Scalar's value varies from step to step: compute with value_of(scalar, step), which is a Var");
  return 0.0;
}
}  // namespace detail

template <class A, class B>
  requires detail::NumbersOfAStep<A, B>
constexpr Scalar operator+(A, B) {
  return detail::refuse_arithmetic<A>();
}
template <class A, class B>
  requires detail::NumbersOfAStep<A, B>
constexpr Scalar operator-(A, B) {
  return detail::refuse_arithmetic<A>();
}
template <class A, class B>
  requires detail::NumbersOfAStep<A, B>
constexpr Scalar operator*(A, B) {
  return detail::refuse_arithmetic<A>();
}
template <class A, class B>
  requires detail::NumbersOfAStep<A, B>
constexpr Scalar operator/(A, B) {
  return detail::refuse_arithmetic<A>();
}

namespace detail {
/// Not constexpr: a compiler that evaluates such a schedule names this function, and the line of the schedule.
[[noreturn, gnu::cold, gnu::noinline]] inline void schedule_has_too_few_steps(const char* name, const char* number,
                                                                              std::int64_t given, std::int64_t least) {
  throw OptionError(std::string("schedule::") + name + ": " + number + " is " + std::to_string(given) +
                    " steps, the minimum is " + std::to_string(least));
}
constexpr void check_schedule(const char* name, const char* number, std::int64_t given, std::int64_t least) {
  if (given < least) schedule_has_too_few_steps(name, number, given, least);
}
}  // namespace detail

/// Errors: OptionError for a length below 1, a warm-up below 0, or a total that leaves no step after the warm-up.
namespace schedule {

/// `rate`, multiplied by `factor` once every `every` steps (PyTorch's StepLR), after a linear warm-up.
constexpr Scalar step(double rate, std::int64_t every, double factor, std::int64_t warmup = 0) {
  detail::check_schedule("step", "every", every, 1);
  detail::check_schedule("step", "warmup", warmup, 0);
  Scalar s(rate);
  s.kind = Scalar::Kind::step;
  s.period = every;
  s.factor = factor;
  s.warmup = warmup;
  return s;
}

/// `rate`, multiplied by `factor` in each step (PyTorch's ExponentialLR), after a linear warm-up.
constexpr Scalar exponential(double rate, double factor, std::int64_t warmup = 0) {
  detail::check_schedule("exponential", "warmup", warmup, 0);
  Scalar s = step(rate, 1, factor, warmup);
  s.kind = Scalar::Kind::exponential;
  return s;
}

/// Linear warm-up to `rate`, then floor + (rate − floor)·(1 − progress)^power, which is `floor` from step `total` on.
constexpr Scalar polynomial(double rate, std::int64_t total, double power = 1, std::int64_t warmup = 0, double floor = 0) {
  detail::check_schedule("polynomial", "warmup", warmup, 0);
  detail::check_schedule("polynomial", "total", total, warmup + 1);
  Scalar s(rate);
  s.kind = Scalar::Kind::polynomial;
  s.period = total;
  s.warmup = warmup;
  s.factor = power;
  s.floor = floor;
  return s;
}

/// Linear warm-up to `rate`, then half a cosine down to `floor` at step `total` (Loshchilov and Hutter 2017).
constexpr Scalar cosine(double rate, std::int64_t total, std::int64_t warmup = 0, double floor = 0) {
  detail::check_schedule("cosine", "warmup", warmup, 0);
  detail::check_schedule("cosine", "total", total, warmup + 1);
  Scalar s = polynomial(rate, total, 1, warmup, floor);
  s.kind = Scalar::Kind::cosine;
  return s;
}

/// Half a cosine from most/25 up to `most` over the first `rise` steps, then half a cosine down to most/250000, reached in the
/// last of `total` steps (Smith and Topin 2018; the shape of PyTorch's OneCycleLR).
constexpr Scalar one_cycle(double most, std::int64_t total, std::int64_t rise) {
  detail::check_schedule("one_cycle", "rise", rise, 1);
  detail::check_schedule("one_cycle", "total", total, rise + 2);
  Scalar s(most);
  s.kind = Scalar::Kind::one_cycle;
  s.warmup = rise;
  s.period = total - 1;
  s.floor = most / 25;
  s.factor = most / 25 / 1e4;
  return s;
}

/// `value` in every `period`-th step, else `otherwise`.
constexpr Scalar every(std::int64_t period, double value = 1, double otherwise = 0) {
  detail::check_schedule("every", "period", period, 1);
  Scalar s(value);
  s.kind = Scalar::Kind::every;
  s.period = period;
  s.floor = otherwise;
  return s;
}

/// A function of the step: 0, 1, 2, ... Errors: OptionError for a null pointer.
constexpr Scalar function(double (*of_step)(std::int64_t)) {
  if (of_step == nullptr) throw OptionError("schedule::function: no function");
  Scalar s(0);
  s.kind = Scalar::Kind::function;
  s.function = of_step;
  return s;
}

/// The value of a caller's variable, which must outlive every session, when a step is made: for rates that depend on how
/// training goes. Session states do not hold it; it cannot set where windows end.
constexpr Scalar variable(const double& of) {
  Scalar s(0);
  s.kind = Scalar::Kind::variable;
  s.variable = &of;
  return s;
}
Scalar variable(const double&& temporary) = delete;

}  // namespace schedule

}  // namespace gradual
