#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <gradual/core/error.hpp>

namespace gradual {

/// One piece of zeroed memory, aligned to cache lines, owned by its maker. Errors: MemoryError with the bytes.
class Block {
 public:
  static constexpr std::align_val_t alignment{64};

  Block() = default;
  explicit Block(std::int64_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    data_ = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), alignment, std::nothrow));
    if (data_ == nullptr) throw MemoryError("out of memory: " + std::to_string(bytes) + " bytes were refused by the system");
    for (std::int64_t i = 0; i < bytes; ++i) data_[i] = std::byte{0};
  }
  Block(Block&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Block() { ::operator delete(data_, alignment); }

  std::byte* data() const { return data_; }
  std::int64_t size() const { return bytes_; }
  std::span<std::byte> bytes() const { return {data_, static_cast<std::size_t>(bytes_)}; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace gradual
