#pragma once
#include <concepts>
#include <cstdint>
#include <limits>

namespace gradual {

/// The bytes that may be used. Converts from any integer type; a number too large for std::int64_t counts as unlimited.
struct Budget {
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  std::int64_t bytes = unlimited;
  bool follows = false;  ///< the device's free memory

  constexpr Budget() = default;
  template <std::integral Integer>
  constexpr Budget(Integer n) : bytes(static_cast<std::int64_t>(n)) {
    if (n > 0 && bytes < 0) bytes = unlimited;
  }

  /// Returns what the device has free when a session is made; before each window the session takes more if there is more.
  static constexpr Budget free_memory() {
    Budget budget;
    budget.follows = true;
    return budget;
  }
};

}  // namespace gradual
