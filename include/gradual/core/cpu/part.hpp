#pragma once
#include <cstdint>

namespace gradual::cpu {

/// One thread's share of a kernel's outputs: part `index` of `count` or, if `count` is negative, of −count parts of `range`.
struct Part {
  struct Range {
    std::int64_t begin, end;
  };
  int index = 0, count = 1;
  Range range{0, 0};

  /// Returns the part that is all of a range.
  static constexpr Part within(Range range) { return {0, -1, range}; }
  /// Returns the share of one of `threads` threads, where this part is all of something.
  constexpr Part of_thread(int which, int threads) const { return {which, count < 0 ? -threads : threads, range}; }

  /// Returns its share of n things, in multiples of `unit`.
  constexpr Range of(std::int64_t n, std::int64_t unit = 1) const {
    if (count == 1) return {0, n};  // saves two divisions, some 50 cycles
    if (count > 0) return share_of(n, unit, count);
    const Range share = share_of(range.end - range.begin, unit, -count);
    return {range.begin + share.begin, range.begin + share.end};
  }

 private:
  constexpr Range share_of(std::int64_t n, std::int64_t unit, int parts) const {
    const std::int64_t units = (n + unit - 1) / unit;
    const auto at = [&](int i) { return units * i / parts * unit < n ? units * i / parts * unit : n; };
    return {at(index), at(index + 1)};
  }
};

}  // namespace gradual::cpu
