#pragma once
#include <cstddef>
#include <span>
#include <utility>

#include <gradual/core/philox.hpp>

namespace gradual {

/// Keeps the streams of epochs apart from those of parameters.
inline constexpr std::uint64_t shuffle_stream = std::uint64_t{1} << 63;

/// Fills `order` with a permutation of 0, 1, ... that depends on (seed, epoch) and its length alone (Fisher and Yates).
constexpr void shuffle(std::span<std::int32_t> order, std::uint64_t seed, std::uint64_t epoch) {
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  for (std::size_t i = order.size(); i > 1; --i) {
    const std::uint64_t high = random_bits(seed, shuffle_stream | epoch, i) >> 32;
    std::swap(order[i - 1], order[static_cast<std::size_t>(high * i >> 32)]);
  }
}

}  // namespace gradual
