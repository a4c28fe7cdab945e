#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gradual::detail {

/// Reads a small system file, as much of it as fits in `room`; empty if there is none. Allocates nothing.
inline std::string_view small_file(const char* path, std::span<char> room) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t size = ::read(file, room.data(), room.size());
  ::close(file);
  return {room.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Returns the first number after `key` in such a file, or −1.
inline std::int64_t number_in_file(const char* path, std::string_view key) {
  char text[4096];
  const std::string_view all = small_file(path, text);
  std::size_t at = all.find(key);
  if (at == all.npos || (at = all.find_first_of("0123456789", at + key.size())) == all.npos) return -1;
  std::int64_t number = -1;
  return std::from_chars(all.data() + at, all.data() + all.size(), number).ec == std::errc{} ? number : -1;
}

}  // namespace gradual::detail
