#pragma once
#include <gradual/core/process_usage.hpp>

#include <gradual/core/config.hpp>

#if defined(_WIN32)
#include <gradual/core/windows.hpp>
#else
#include <unistd.h>
#if defined(__APPLE__)
#include <mach/mach.h>
#endif

#include <ctime>

#include <gradual/core/system_file.hpp>
#endif

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
#if defined(__APPLE__)
  mach_task_basic_info_data_t task{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (::task_info(::mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&task), &count) == KERN_SUCCESS)
    result.resident = static_cast<std::int64_t>(task.resident_size);
#else
  const std::int64_t pages = detail::number_in_file("/proc/self/statm", " ");  // "pages-in-all pages-resident ..."
  if (pages > 0) result.resident = pages * ::sysconf(_SC_PAGESIZE);
#endif
  return result;
}

#endif

}  // namespace gradual
