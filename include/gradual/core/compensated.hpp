#pragma once
#include <span>

#include <gradual/core/dtype.hpp>
#include <gradual/core/math/all_finite.hpp>

namespace gradual {

/// A sum of floats held as two numbers: the rounded sum, and what the rounding lost. As bf16 or f16, both are computed anew for
/// each float added: their exact sum, of 17 or 23 binary digits, is a float, on which alone the next sum depends.
template <class Part>
struct Compensated {
  using Value = float;
  Part high{}, low{};

  GRADUAL_HD static constexpr Compensated of(float sum) {
    const Part high(sum);
    return {high, Part(sum - static_cast<float>(high))};
  }
  GRADUAL_HD constexpr Compensated& operator+=(float x) { return *this = of(value() + x); }
  GRADUAL_HD constexpr Value value() const { return static_cast<float>(high) + static_cast<float>(low); }
};

/// As floats, the second accumulates the rounding errors of the first, each found exactly by Knuth's TwoSum (Neumaier 1974):
/// about twice the digits of a float, in its range.
template <>
struct Compensated<float> {
  using Value = double;
  float high = 0, low = 0;

  GRADUAL_HD constexpr Compensated& operator+=(float x) {
    const float sum = high + x, taken = sum - high;
    low += (high - (sum - taken)) + (x - taken);
    high = sum;
    return *this;
  }
  GRADUAL_HD constexpr Value value() const { return static_cast<double>(high) + static_cast<double>(low); }
};

/// Replaces a complete sum, in place, by one number.
template <class Part>
GRADUAL_HD inline void complete(Compensated<Part>& sum) {
  const auto value = sum.value();
  static_assert(sizeof(sum) == sizeof(value));
  __builtin_memcpy(static_cast<void*>(&sum), &value, sizeof(value));
}

namespace math {

template <class Part>
GRADUAL_HD GRADUAL_INLINE constexpr bool is_finite(const Compensated<Part>& sum) {
  return is_finite(sum.value());
}
template <class Part>
[[gnu::noinline, gnu::hot]] bool all_finite(std::span<const Compensated<Part>> sums) {
  bool finite = true;
  for (const Compensated<Part>& sum : sums) finite &= is_finite(sum);
  return finite;
}

}  // namespace math
}  // namespace gradual
