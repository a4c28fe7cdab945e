#pragma once
#include <gradual/core/heap_block.hpp>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/free_memory.hpp>
#include <gradual/core/message.hpp>
#include <gradual/core/system_memory.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gradual {

GRADUAL_ONCE HeapBlock::HeapBlock(std::int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), std::align_val_t{alignment}, std::nothrow));
  if (data_ == nullptr) refuse(bytes);
  ask_for_large_pages();
  for (std::int64_t i = 0; i < bytes; ++i) data_[i] = std::byte{0};
}

GRADUAL_ONCE HeapBlock& HeapBlock::operator=(HeapBlock&& other) noexcept {
  const HeapBlock before(std::move(*this));  // a block moved to itself is left empty, like a vector
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GRADUAL_ONCE void HeapBlock::ask_for_large_pages() {
#if defined(__linux__)
  constexpr std::uintptr_t page = 4096, large_page = 2 * 1024 * 1024;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data_) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(data_) + static_cast<std::uintptr_t>(bytes_)) / page * page;
  if (bytes_ >= static_cast<std::int64_t>(large_page)) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

GRADUAL_ONCE void HeapBlock::refuse(std::int64_t bytes) {
  Message text;
  text << "out of memory: " << bytes << " bytes were refused by the system";
  if (const SystemMemory system = system_memory(); system.capacity > 0)
    text << ", which has " << system.capacity << ", of which others hold " << system.others << " and " << system.free
         << " are free; this process may take " << free_memory() << " more";
  throw MemoryError(text.view());
}

}  // namespace gradual
