#pragma once
#include <cstdint>
#include <string>

#include <gradual/core/error.hpp>

namespace gradual {

/// Lets `inner` step once per accumulation window, on the gradient of all the window's samples: Σwᵢ∇ℓᵢ / Σwᵢ, divided
/// once. The window is `Session`'s global batch in samples, or, where `every` is set, that many calls.
/// The inner optimizer knows nothing of this: its step count, decay, clipping and schedules advance once per window.
template <class Inner>
struct Accumulate {
  Inner inner;
  std::int64_t every = 0;
};
template <class Inner>
Accumulate(Inner) -> Accumulate<Inner>;
template <class Inner, class Count>
Accumulate(Inner, Count) -> Accumulate<Inner>;

/// The update rule of an optimizer, which `Accumulate` may be around.
template <class Optimizer>
constexpr const auto& rule_of(const Optimizer& optimizer) {
  return optimizer;
}
template <class Inner>
constexpr const auto& rule_of(const Accumulate<Inner>& optimizer) {
  return optimizer.inner;
}
/// Calls of a window; 0: it is counted in samples. Errors: OptionError for less.
template <class Optimizer>
std::int64_t calls_of(const Optimizer& optimizer) {
  std::int64_t every = 0;
  if constexpr (requires { optimizer.every; }) every = optimizer.every;
  if (every < 0) throw OptionError("Accumulate: a window of " + std::to_string(every) + " calls");
  return every;
}

}  // namespace gradual
