#pragma once
#include <cstdint>
#include <string>

#include <gradual/autodiff/shadow.hpp>
#include <gradual/core/error.hpp>
#include <gradual/optim/opaque.hpp>

namespace gradual {

/// Lets `inner` step once per accumulation window, on the gradient of all the window's samples: Σwᵢ∇ℓᵢ / Σwᵢ, divided
/// once. The window is `Session`'s global batch in samples or, if `every` is set, that many calls.
/// The inner optimizer is unaware of this: its step count, decay, clipping and schedules advance once per window.
///
/// S is the type that holds the window's sums: float, double, or two numbers each (`Compensated<float>`, `Compensated<bf16>`,
/// `Compensated<f16>`); `Accumulate{Adam{}}.in<double>()`. Blocks of samples are always chains of floats. If float cannot hold
/// the sums exactly, the rest of backward, the division and the inner optimizer compute in double, and only new parameters and
/// state are rounded. In a net of doubles everything is double, whatever S is.
template <class Inner, ShadowType S = float>
struct Accumulate {
  Inner inner;
  std::int64_t every = 0;

  /// Returns the same optimizer with sums held in another type.
  template <ShadowType Other>
  constexpr Accumulate<Inner, Other> in() const {
    return {inner, every};
  }
};
template <class Inner>
Accumulate(Inner) -> Accumulate<Inner>;
template <class Inner, class Count>
Accumulate(Inner, Count) -> Accumulate<Inner>;

namespace detail {
/// Returns an optimizer itself, or the one inside `Accumulate`.
template <class Optimizer>
constexpr const Optimizer& held_by(const Optimizer& optimizer) {
  return optimizer;
}
template <class Inner, ShadowType S>
constexpr const Inner& held_by(const Accumulate<Inner, S>& optimizer) {
  return optimizer.inner;
}
template <class Optimizer>
struct Shadowed {
  using type = float;
};
template <class Inner, ShadowType S>
struct Shadowed<Accumulate<Inner, S>> {
  using type = S;
};
template <class Optimizer>
using HeldBy = std::remove_cvref_t<decltype(held_by(std::declval<const Optimizer&>()))>;
}  // namespace detail

/// The type that holds an optimizer's sums.
template <class Optimizer>
using ShadowOf = typename detail::Shadowed<std::remove_cvref_t<Optimizer>>::type;

/// The update rule inside an optimizer.
template <class Optimizer>
using RuleOf = typename detail::Traced<detail::HeldBy<Optimizer>>::type;
template <class Optimizer>
constexpr decltype(auto) rule_of(const Optimizer& optimizer) {
  return detail::Traced<detail::HeldBy<Optimizer>>::of(detail::held_by(optimizer));
}
/// Returns the calls per window; 0: it is counted in samples. Errors: OptionError for a negative number.
template <class Optimizer>
std::int64_t calls_of(const Optimizer& optimizer) {
  std::int64_t every = 0;
  if constexpr (requires { optimizer.every; }) every = optimizer.every;
  if (every < 0) throw OptionError("Accumulate: a window of " + std::to_string(every) + " calls");
  return every;
}

}  // namespace gradual
