#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace gradual::detail {

template <class Bytes>
void copy_rows_of(std::byte* to, const std::byte* from, std::span<const std::int32_t> rows, Bytes bytes) {
  for (const std::int32_t row : rows) {
    std::memcpy(to, from + row * std::int64_t{bytes}, static_cast<std::size_t>(std::int64_t{bytes}));
    to += std::int64_t{bytes};
  }
}

/// Copies rows of `bytes` bytes each together, in this order. Makes no call for single numbers such as labels.
inline void copy_rows(void* to, const void* from, std::span<const std::int32_t> rows, std::int64_t bytes) {
  auto* const here = static_cast<std::byte*>(to);
  const auto* const there = static_cast<const std::byte*>(from);
  if (bytes == 4) copy_rows_of(here, there, rows, std::integral_constant<std::int64_t, 4>{});
  else if (bytes == 8) copy_rows_of(here, there, rows, std::integral_constant<std::int64_t, 8>{});
  else copy_rows_of(here, there, rows, bytes);
}

}  // namespace gradual::detail
