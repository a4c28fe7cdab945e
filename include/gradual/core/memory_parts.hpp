#pragma once
#include <cstdint>

namespace gradual {

namespace detail {
void run_memory_parts(std::int64_t bytes, void (*part)(const void*, std::int64_t, std::int64_t), const void* f);
}  // namespace detail

/// Calls f(begin, end) for parts of `bytes` bytes of memory: all of it if it is small, else one part on each of several
/// threads, since a single thread gets only a fraction of the memory's bandwidth. f must not throw.
template <class F>
void for_memory_parts(std::int64_t bytes, const F& f) {
  detail::run_memory_parts(
      bytes, [](const void* g, std::int64_t begin, std::int64_t end) { (*static_cast<const F*>(g))(begin, end); }, &f);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/core/memory_parts.ipp>
#endif
