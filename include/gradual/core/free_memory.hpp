#pragma once
#include <cstdint>

namespace gradual {

/// Returns the bytes that this process may still take: those that the system can free for it, within the limits of its control
/// groups and its own limit on address space.
std::int64_t free_memory();

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/core/free_memory.ipp>
#endif
