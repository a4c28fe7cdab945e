#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include <gradual/core/alignment.hpp>

namespace gradual {

/// Zeroed memory in one piece, aligned to cache lines and owned by this object. Errors: MemoryError with the bytes requested
/// and what the machine has.
class HeapBlock {
 public:
  HeapBlock() = default;
  explicit HeapBlock(std::int64_t bytes);
  HeapBlock(HeapBlock&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HeapBlock& operator=(HeapBlock&& other) noexcept;
  ~HeapBlock() { ::operator delete(data_, std::align_val_t{alignment}); }

  std::byte* data() const { return data_; }
  std::int64_t size() const { return bytes_; }
  std::span<std::byte> bytes() const { return {data_, static_cast<std::size_t>(bytes_)}; }

 private:
  /// Asks for large pages if the block is large; they may be refused. Such blocks are walked in large strides, and each small
  /// page costs a look-up.
  void ask_for_large_pages();

  [[noreturn, gnu::cold]] static void refuse(std::int64_t bytes);

  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/core/heap_block.ipp>
#endif
