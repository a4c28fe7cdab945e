#pragma once
#include <gradual/core/config.hpp>

namespace gradual {

/// A sum of floats held as two: what it was rounded to, and what the roundings lost, each found exactly by Knuth's TwoSum
/// (Neumaier 1974). About twice the digits of a float, in its range.
struct Compensated {
  float high = 0, low = 0;

  GRADUAL_HD constexpr Compensated& operator+=(float x) {
    const float sum = high + x, taken = sum - high;
    low += (high - (sum - taken)) + (x - taken);
    high = sum;
    return *this;
  }
  GRADUAL_HD constexpr double value() const { return static_cast<double>(high) + static_cast<double>(low); }
};

/// Makes a double of a complete sum, in its place.
GRADUAL_HD inline void complete(Compensated& sum) {
  static_assert(sizeof(Compensated) == sizeof(double));
  const double value = sum.value();
  __builtin_memcpy(static_cast<void*>(&sum), &value, sizeof(value));
}

}  // namespace gradual
