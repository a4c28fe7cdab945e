#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace gradual {

// 64-bit FNV-1a (Fowler, Noll & Vo): the offset basis, and the hash after one more byte, or several.
inline constexpr std::uint64_t fnv_begin = 0xcbf29ce484222325u;
constexpr std::uint64_t fnv(std::uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001b3u; }
inline std::uint64_t fnv(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) hash = fnv(hash, static_cast<unsigned char>(b));
  return hash;
}

}  // namespace gradual
