#pragma once
#include <gradual/core/free_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>

#include <gradual/core/config.hpp>
#include <gradual/core/system_memory.hpp>

#if defined(_WIN32)

#include <gradual/core/windows.hpp>

namespace gradual {

GRADUAL_ONCE std::int64_t free_memory() {
  windows::MemoryStatus status;
  if (windows::memory_status(&status) == 0) return 0;
  return static_cast<std::int64_t>(std::min({status.free_physical, status.free_to_commit, status.free_addresses}));
}

}  // namespace gradual

#else

#include <sys/resource.h>
#include <unistd.h>

#include <gradual/core/system_file.hpp>

namespace gradual::detail {

/// Returns `result`, limited to what the control group of this process and the groups above it leave. Allocates nothing.
inline std::int64_t left_by_groups(std::int64_t result) {
  constexpr std::string_view root = "/sys/fs/cgroup", own = "0::";
  char text[4096], path[4096 + 64];
  std::string_view group = small_file("/proc/self/cgroup", text);
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

/// Returns `result`, limited to what this process's limit on address space (`ulimit -v`) leaves. Allocates nothing.
inline std::int64_t left_by_address_limit(std::int64_t result) {
  rlimit space;
  if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur >= static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max()))
    return result;
  const std::int64_t pages = number_in_file("/proc/self/statm", "");
  if (pages < 0) return result;
  return std::clamp(static_cast<std::int64_t>(space.rlim_cur) - pages * ::sysconf(_SC_PAGESIZE), std::int64_t{0}, result);
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE std::int64_t free_memory() {
  const std::int64_t available = detail::number_in_file("/proc/meminfo", "MemAvailable:");  // KiB
  return detail::left_by_address_limit(detail::left_by_groups(available >= 0 ? available * 1024 : system_memory().free));
}

}  // namespace gradual

#endif
