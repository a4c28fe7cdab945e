#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>

#include <gradual/core/system_memory.hpp>

namespace gradual {

namespace detail {
/// The first number behind `key` in a small file of the system, or −1. Allocates nothing.
inline std::int64_t number_in_file(const char* path, std::string_view key) {
  char text[4096];
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t size = ::read(file, text, sizeof(text));
  ::close(file);
  const std::string_view all(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  std::size_t at = all.find(key);
  if (at == all.npos || (at = all.find_first_of("0123456789", at + key.size())) == all.npos) return -1;
  std::int64_t number = -1;
  return std::from_chars(all.data() + at, all.data() + all.size(), number).ec == std::errc{} ? number : -1;
}
}  // namespace detail

/// Bytes that this process may still take: those that the system can free for it, within the limit of its control group.
inline std::int64_t free_memory() {
  const std::int64_t available = detail::number_in_file("/proc/meminfo", "MemAvailable:");  // KiB
  std::int64_t result = available >= 0 ? available * 1024 : system_memory().free;
  const std::int64_t limit = detail::number_in_file("/sys/fs/cgroup/memory.max", ""),
                     used = detail::number_in_file("/sys/fs/cgroup/memory.current", "");
  if (limit >= 0 && used >= 0) result = std::min(result, std::max(limit - used, std::int64_t{0}));
  return result;
}

}  // namespace gradual
