#pragma once
#include <cstdint>

namespace gradual::cpu {

/// One thread's share of a kernel's outputs: part `index` of `count`.
struct Part {
  int index = 0, count = 1;

  struct Range {
    std::int64_t begin, end;
  };
  Range within{0, 0};  ///< of which a kernel computes these alone; empty: all

  /// Its share of n things, in multiples of `unit`.
  constexpr Range of(std::int64_t n, std::int64_t unit = 1) const {
    if (within.end > 0) return {within.begin + share_of(within.end - within.begin, unit).begin,
                                within.begin + share_of(within.end - within.begin, unit).end};
    return share_of(n, unit);
  }

 private:
  constexpr Range share_of(std::int64_t n, std::int64_t unit) const {
    if (count == 1) return {0, n};  // before two divisions, which take some 50 cycles
    const std::int64_t units = (n + unit - 1) / unit;
    const auto at = [&](int i) { return units * i / count * unit < n ? units * i / count * unit : n; };
    return {at(index), at(index + 1)};
  }
};

}  // namespace gradual::cpu
