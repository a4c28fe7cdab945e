#pragma once
#include <cstdint>

namespace gradual {

/// Bytes that this process may still take: those that the system can free for it, within the limits of its control groups and
/// its own on addresses.
std::int64_t free_memory();

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/core/free_memory.ipp>
#endif
