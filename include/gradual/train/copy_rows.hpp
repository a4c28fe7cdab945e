#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gradual::detail {

/// Copies those rows of `width` elements together, in this order.
template <class E>
void copy_rows(void* to, const E* from, std::span<const std::int32_t> rows, std::int64_t width) {
  const auto bytes = static_cast<std::size_t>(width) * sizeof(E);
  auto* next = static_cast<std::byte*>(to);
  for (const std::int32_t row : rows) {
    std::memcpy(next, from + row * width, bytes);
    next += bytes;
  }
}

}  // namespace gradual::detail
