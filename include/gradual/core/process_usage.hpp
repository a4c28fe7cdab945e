#pragma once
#include <cstdint>

namespace gradual {

/// Resource usage of this process as the system reports it; 0 where it does not. Allocates nothing.
struct ProcessUsage {
  std::int64_t resident = 0;  ///< bytes in memory, of the program and its data
  double cpu_seconds = 0;     ///< of all threads, since the process began
};

ProcessUsage process_usage();

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/core/process_usage.ipp>
#endif
