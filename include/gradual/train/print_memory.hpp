#pragma once
#include <iosfwd>

#include <gradual/train/memory.hpp>

namespace gradual {

/// Prints a table of bytes by category: what is persistent, and what comes and goes with each micro-batch.
std::ostream& operator<<(std::ostream& out, const MemoryTable& table);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/print_memory.ipp>
#endif
