#pragma once
#include <cstdint>

namespace gradual {

inline constexpr std::int64_t alignment = 64;  ///< in bytes: every block and every buffer in it starts on a cache line
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace gradual
