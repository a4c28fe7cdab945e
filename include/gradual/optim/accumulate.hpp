#pragma once
#include <cstdint>

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

}  // namespace gradual
