#pragma once
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gradual/core/error.hpp>
#include <gradual/core/message.hpp>
#include <gradual/cuda/twin_work.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace gradual::cuda {

/// The bytes of memory that the twin's device has.
inline std::int64_t twin_memory = std::int64_t{1} << 36;
/// The device that is current, as `cudaSetDevice` chooses it on a GPU, and the bytes that were ever taken on each.
inline thread_local int twin_device = 0;
inline std::int64_t twin_bytes_taken[2] = {};
/// The number of allocations, of device or pinned memory, after which the twin refuses one, as a system may; −1: never.
inline int twin_refuses_after = -1;

namespace twin {

/// Whether a library's work is being captured. Meanwhile a device can neither allocate memory nor be waited for.
inline bool captures = false;
inline void require_no_capture(const char* call) {
  if (captures) throw std::logic_error(std::string(call) + ": a library's work is being captured");
}

inline bool refuses() {
  require_no_capture("memory");
  return twin_refuses_after >= 0 && twin_refuses_after-- == 0;
}

/// All memory of the twin's devices: pages that the host can touch only while kernels and copies run, as on a GPU. Where
/// streams work at once it always can, since changing the protection each time takes longer than most kernels.
class DeviceMemory {
 public:
  static DeviceMemory& all() {
    static DeviceMemory memory;
    return memory;
  }

  /// Returns null where there is no room.
  std::byte* take(std::size_t bytes) {
    if (const auto free = free_.find(bytes); free != free_.end()) return free_.extract(free).mapped();
    if (first_ == nullptr || bytes > room - used_) return nullptr;
    return first_ + std::exchange(used_, used_ + bytes);
  }
  bool holds(const void* data) const { return data >= first_ && data < first_ + used_; }
  void give_back(std::byte* data, std::size_t bytes) { free_.emplace(bytes, data); }

  /// A scope in which device memory can be touched.
  class Revealed {
   public:
    Revealed() {
      ++all().reveals_;
      all().allow();
    }
    Revealed(const Revealed&) = delete;
    Revealed& operator=(const Revealed&) = delete;
    ~Revealed() {
      if (--all().reveals_ == 0 && twin_works_late) all().forbid();
    }
  };

 private:
  static constexpr std::size_t room = std::size_t{1} << 36;  // bytes of address space
  static constexpr std::size_t huge = std::size_t{1} << 21;  // protecting one large page takes as long as one of 512 small ones

  DeviceMemory() {
    void* const at = mmap(nullptr, room + huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    first_ = static_cast<std::byte*>(at) + (huge - reinterpret_cast<std::uintptr_t>(at) % huge) % huge;
    madvise(first_, room, MADV_HUGEPAGE);
  }
  /// Also allows what lies behind the last piece in a large page; the address sanitizer sees what is read there.
  void allow() {
    if (allowed_ < used_) {
      allowed_ = (used_ + huge - 1) / huge * huge;
      mprotect(first_, allowed_, PROT_READ | PROT_WRITE);
    }
  }
  void forbid() {
    if (allowed_ > 0) mprotect(first_, allowed_, PROT_NONE);
    allowed_ = 0;
  }

  std::byte* first_ = nullptr;
  std::size_t used_ = 0, allowed_ = 0;
  int reveals_ = 0;
  std::multimap<std::size_t, std::byte*> free_;  ///< by size
};

}  // namespace twin

/// A piece of zeroed device memory of the twin, owned by its maker. Errors: MemoryError with the bytes needed and free.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::int64_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const std::int64_t free = twin_memory - held_;
    if (bytes <= free && !twin::refuses()) data_ = twin::DeviceMemory::all().take(pages());
    if (data_ == nullptr)
      throw MemoryError((Message() << "out of device memory: " << bytes << " bytes are needed, " << free << " of "
                                   << twin_memory << " are free").view());
    held_ += bytes;
    twin_bytes_taken[twin_device] += bytes;
    const twin::DeviceMemory::Revealed revealed;
    ASAN_POISON_MEMORY_REGION(data_, pages());
    ASAN_UNPOISON_MEMORY_REGION(data_, static_cast<std::size_t>(bytes));
    std::memset(data_, 0, static_cast<std::size_t>(bytes));
  }
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    const Memory before(std::move(*this));  // a self-move leaves it empty, as with a vector
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory() {
    if (data_ == nullptr) return;
    twin::Work::finish_all();
    ASAN_POISON_MEMORY_REGION(data_, pages());
    twin::DeviceMemory::all().give_back(data_, pages());
    held_ -= bytes_;
  }

  std::byte* data() const { return data_; }
  std::int64_t size() const { return bytes_; }
  /// Returns the bytes of all live pieces.
  static std::int64_t held() { return held_; }

 private:
  /// Returns its bytes in whole pages, with at least one unused byte at the end.
  std::size_t pages() const { return (static_cast<std::size_t>(bytes_) / 4096 + 1) * 4096; }

  inline static std::int64_t held_ = 0;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace gradual::cuda
