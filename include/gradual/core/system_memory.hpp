#pragma once
#if defined(_WIN32)
#include <gradual/core/windows.hpp>
#elif defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <gradual/core/process_usage.hpp>

namespace gradual {

/// Bytes of this machine's memory, of those that nobody uses, and of those that are neither free nor this process's, files that
/// the system keeps in memory included. 0 if the system does not report them. Allocates nothing.
struct SystemMemory {
  std::int64_t capacity = 0, free = 0, others = 0;
};

inline SystemMemory system_memory() {
  SystemMemory result;
#if defined(_WIN32)
  if (windows::MemoryStatus status; windows::memory_status(&status) != 0)
    result = {static_cast<std::int64_t>(status.physical), static_cast<std::int64_t>(status.free_physical), 0};
#elif defined(__APPLE__)
  std::int64_t all = 0;
  std::size_t bytes = sizeof(all);
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (::sysctlbyname("hw.memsize", &all, &bytes, nullptr, 0) == 0 &&
      ::host_statistics64(::mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count) == KERN_SUCCESS) {
    const std::int64_t unused = std::int64_t{pages.free_count} + pages.inactive_count;  // the latter are given up when asked for
    result = {all, unused * static_cast<std::int64_t>(vm_kernel_page_size), 0};
  }
#elif defined(_SC_PHYS_PAGES) && defined(_SC_AVPHYS_PAGES)
  const std::int64_t page = ::sysconf(_SC_PAGESIZE), all = ::sysconf(_SC_PHYS_PAGES),
                     unused = ::sysconf(_SC_AVPHYS_PAGES);
  if (page > 0 && all > 0 && unused >= 0) result = {all * page, unused * page, 0};
#endif
  result.others = std::max(std::int64_t{0}, result.capacity - result.free - process_usage().resident);
  return result;
}

}  // namespace gradual
