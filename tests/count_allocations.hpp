#pragma once
// Counts every allocation of the program that includes this: those by operator new, any of which can be made to fail, and
// those from the system. AddressSanitizer has its own allocator, which reports all but mmap.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace {
constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> allocations = 0;                           // by operator new
[[maybe_unused]] std::atomic<std::int64_t> system_allocations = 0;  // by anything: malloc and the like, mmap
[[maybe_unused]] std::atomic<std::int64_t> allocated_bytes = 0;
[[maybe_unused]] std::atomic<std::int64_t> block_bytes = 0;  // aligned to cache lines: the arenas
[[maybe_unused]] std::atomic<std::int64_t> live_bytes = 0;
[[maybe_unused]] std::atomic<std::int64_t> failing_allocation =
    none;                                                   // its number, counted like `allocations`
[[maybe_unused]] std::atomic<bool> fails_for_ever = false;  // and all after it

void* counted(std::size_t bytes, std::size_t alignment) {
  const std::int64_t turn = allocations++;
  if (turn == failing_allocation || (turn > failing_allocation && fails_for_ever)) return nullptr;
  allocated_bytes += static_cast<std::int64_t>(bytes);
  if (alignment >= 64) block_bytes += static_cast<std::int64_t>(bytes);
  void* p = nullptr;
  if (posix_memalign(&p, alignment, alignment + bytes) != 0) return nullptr;
  std::memcpy(p, &bytes, sizeof(bytes));  // the requested size goes in front: malloc's own depends on its history
  live_bytes += static_cast<std::int64_t>(bytes);
  return static_cast<char*>(p) + alignment;
}
void* counted_or_throw(std::size_t bytes, std::size_t alignment) {
  void* p = counted(bytes, alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void given_back(void* p, std::size_t alignment) {
  if (p == nullptr) return;
  p = static_cast<char*>(p) - alignment;
  std::size_t bytes;
  std::memcpy(&bytes, p, sizeof(bytes));
  live_bytes -= static_cast<std::int64_t>(bytes);
  std::free(p);
}
}  // namespace

#ifdef __SANITIZE_ADDRESS__
constexpr bool counts_mmap = false;
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));
[[maybe_unused]] const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, std::size_t) { ++system_allocations; }, [](const volatile void*) {});
#else
constexpr bool counts_mmap = true;
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  ++system_allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++system_allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* p, std::size_t bytes) noexcept {
  ++system_allocations;
  return __libc_realloc(p, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  ++system_allocations;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) noexcept {
  *p = memalign(alignment, bytes);
  return *p != nullptr ? 0 : ENOMEM;
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  ++system_allocations;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
}
#endif

// Every form of operator new and delete that the library uses, including those that call each other in the C++ library:
// a sanitizer's do not.
void* operator new(std::size_t bytes) { return counted_or_throw(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t a) {
  return counted_or_throw(bytes, static_cast<std::size_t>(a));
}
void* operator new(std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { given_back(p, 16); }
void operator delete(void* p, std::size_t) noexcept { given_back(p, 16); }
void operator delete(void* p, std::align_val_t a) noexcept { given_back(p, static_cast<std::size_t>(a)); }
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept {
  given_back(p, static_cast<std::size_t>(a));
}
