#pragma once
// Counts every allocation of the program that includes this, once.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> allocations = 0;
[[maybe_unused]] std::atomic<std::int64_t> allocated_bytes = 0;
void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  allocated_bytes += static_cast<std::int64_t>(bytes);
  void* p = nullptr;
  return posix_memalign(&p, alignment < 16 ? 16 : alignment, bytes) == 0 ? p : nullptr;
}
}  // namespace

// Every way to memory that the library has: all forms of new end here.
void* operator new(std::size_t bytes) { return counted(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t a) { return counted(bytes, static_cast<std::size_t>(a)); }
void* operator new(std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
