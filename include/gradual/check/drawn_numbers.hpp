#pragma once
#include <cstdint>

namespace gradual::detail {

/// The random numbers from which a check draws operands and directions: the same in every run.
struct DrawnNumbers {
  std::uint64_t state = 12345;
  double operator()(double low, double high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
  }
  /// Draws a number from 0.5 to 1, of either sign.
  double part() {
    const double size = (*this)(0.5, 1);
    return (*this)(-1, 1) < 0 ? -size : size;
  }
};

}  // namespace gradual::detail
