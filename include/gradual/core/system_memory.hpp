#pragma once
#include <unistd.h>

#include <cstdint>

namespace gradual {

/// Bytes of memory of this machine, and those that nobody uses. 0 where the system does not tell. Allocates nothing.
struct SystemMemory {
  std::int64_t capacity = 0, free = 0;
};

inline SystemMemory system_memory() {
  SystemMemory result;
#if defined(_SC_PHYS_PAGES) && defined(_SC_AVPHYS_PAGES)
  const std::int64_t page = ::sysconf(_SC_PAGESIZE), all = ::sysconf(_SC_PHYS_PAGES),
                     unused = ::sysconf(_SC_AVPHYS_PAGES);
  if (page > 0 && all > 0 && unused >= 0) result = {all * page, unused * page};
#endif
  return result;
}

}  // namespace gradual
