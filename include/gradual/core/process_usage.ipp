#pragma once
#include <gradual/core/process_usage.hpp>

#if defined(_WIN32)
#include <gradual/core/windows.hpp>
#else
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <ctime>
#endif

#include <gradual/core/config.hpp>

namespace gradual {

#if defined(_WIN32)

GRADUAL_ONCE ProcessUsage process_usage() {
  ProcessUsage result;
  if (windows::ProcessMemory memory; windows::process_memory(windows::current_process(), &memory, sizeof(memory)) != 0)
    result.resident = static_cast<std::int64_t>(memory.resident);
  windows::FileTime begun, ended, kernel, user;
  if (windows::process_times(windows::current_process(), &begun, &ended, &kernel, &user) != 0)
    for (const windows::FileTime& time : {kernel, user})
      result.cpu_seconds += 1e-7 * (4294967296.0 * time.high + time.low);
  return result;
}

#else

GRADUAL_ONCE ProcessUsage process_usage() {
  ProcessUsage result;
#if defined(CLOCK_PROCESS_CPUTIME_ID)
  if (timespec time{}; ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0)
    result.cpu_seconds = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#endif
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);  // "pages-in-all pages-resident ..."
  if (file < 0) return result;
  char text[128];
  const ssize_t size = ::read(file, text, sizeof(text));
  ::close(file);
  const char* const end = text + (size > 0 ? size : 0);
  const auto* const space =
      size > 0 ? static_cast<const char*>(std::memchr(text, ' ', static_cast<std::size_t>(size))) : nullptr;
  std::int64_t pages = 0;
  if (space != nullptr && std::from_chars(space + 1, end, pages).ec == std::errc{})
    result.resident = pages * ::sysconf(_SC_PAGESIZE);
  return result;
}

#endif

}  // namespace gradual
