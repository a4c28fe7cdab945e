#pragma once
#include <concepts>
#include <cstdint>
#include <limits>

namespace gradual {

/// Bytes that may be used. From a number of any integer type; one that no signed number can hold counts as the largest.
struct Budget {
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  std::int64_t bytes = unlimited;
  bool follows = false;  ///< the device is asked

  constexpr Budget() = default;
  template <std::integral Integer>
  constexpr Budget(Integer n) : bytes(static_cast<std::int64_t>(n)) {
    if (n > 0 && bytes < 0) bytes = unlimited;
  }

  /// What the device has free when a session is made; before each window it takes more where there is more.
  static constexpr Budget free_memory() {
    Budget budget;
    budget.follows = true;
    return budget;
  }
};

}  // namespace gradual
