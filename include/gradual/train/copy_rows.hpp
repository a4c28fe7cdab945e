#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gradual::detail {

/// Copies those rows of `bytes` each together, in this order.
inline void copy_rows(void* to, const void* from, std::span<const std::int32_t> rows, std::int64_t bytes) {
  auto* next = static_cast<std::byte*>(to);
  for (const std::int32_t row : rows) {
    std::memcpy(next, static_cast<const std::byte*>(from) + row * bytes, static_cast<std::size_t>(bytes));
    next += bytes;
  }
}

}  // namespace gradual::detail
