#pragma once
#include <gradual/core/error.hpp>

namespace gradual {

/// Finds compiler flags and processor modes under which results would not be reproducible.
/// Errors: NumericsError naming the flag to add or remove.
inline void check_numerics() {
  volatile float a = 1.0f + 0x1p-12f, minus_square = -(1.0f + 0x1p-11f), tiny = 0x1p-126f, half = 0.5f;
  const float x = a, y = minus_square;
  if (x * x + y != 0.0f)
    throw NumericsError("gradual: the compiler contracts a*b+c to one rounding: add -ffp-contract=off");
  if (tiny * half == 0.0f)
    throw NumericsError("gradual: subnormal numbers are flushed to zero: remove -ffast-math from what is linked");
}

}  // namespace gradual
