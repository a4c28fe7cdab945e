#pragma once
#include <concepts>
#include <cstdint>

namespace gradual::detail {

/// Reports that this share of `size` samples leaves one part empty. Errors: DataError.
[[noreturn]] void refuse_share(double share, std::int64_t size);

/// Returns how many of `size` samples make up their first `share`: the largest count for which count / size, rounded to the
/// type of `share`, is not above it. So 0.29 of 100 is 29, although 0.29 · 100 is rounded to less.
/// Errors: DataError if one part would be empty.
template <std::floating_point Share>
std::int64_t count_in(Share share, std::int64_t size) {
  const auto within = [&](std::int64_t count) {
    using Wide = decltype(share + double{});  // wide enough that rounding twice equals rounding once
    return static_cast<Share>(static_cast<Wide>(count) / static_cast<Wide>(size)) <= share;
  };
  std::int64_t first = 0;
  for (std::int64_t above = size; above - first > 1;) {  // bisection: a count's share grows with it
    const std::int64_t middle = first + (above - first) / 2;
    (within(middle) ? first : above) = middle;
  }
  if (first == 0 || within(size)) refuse_share(static_cast<double>(share), size);
  return first;
}

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/count_in.ipp>
#endif
