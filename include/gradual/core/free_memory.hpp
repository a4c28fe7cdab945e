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

/// The least that the control group of this process, and those that it lies in, leave of `result`. Allocates nothing.
inline std::int64_t left_by_groups(std::int64_t result) {
  constexpr std::string_view root = "/sys/fs/cgroup", own = "0::";
  char text[4096], path[4096 + 64];
  const int file = ::open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? 0 : ::read(file, text, sizeof(text));
  if (file >= 0) ::close(file);
  std::string_view group(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t line = group.starts_with(own) ? 0 : group.find("\n0::") + 1;  // 0 where there is none
  group = group.substr(line);
  group = group.starts_with(own) ? group.substr(own.size(), group.find('\n') - own.size()) : "/";
  for (;;) {
    const auto number = [&](std::string_view name) {
      char* end = std::copy(root.begin(), root.end(), path);
      end = std::copy(group.begin(), group.end(), end);
      *std::copy(name.begin(), name.end(), end) = '\0';
      return number_in_file(path, "");
    };
    const std::int64_t limit = number("/memory.max"), used = number("/memory.current");
    if (limit >= 0 && used >= 0) result = std::min(result, std::max(limit - used, std::int64_t{0}));
    if (group.empty()) return result;
    group = group.substr(0, group.rfind('/'));
  }
}
}  // namespace detail

/// Bytes that this process may still take: those that the system can free for it, within the limits of its control groups.
inline std::int64_t free_memory() {
  const std::int64_t available = detail::number_in_file("/proc/meminfo", "MemAvailable:");  // KiB
  return detail::left_by_groups(available >= 0 ? available * 1024 : system_memory().free);
}

}  // namespace gradual
