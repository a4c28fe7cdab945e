#pragma once
#include <bit>
#include <memory>
#include <numeric>

#include <gradual/eager/accelerator.hpp>

namespace gradual::eager {

/// A pool of reusable memory: free pieces wait in lists by size, four sizes to each power of two. It lives as long as anything
/// taken from it.
class Pool {
 public:
  /// `accelerator`: the owner of the memory; null: the processor.
  static Pool* make(std::int64_t limit, std::unique_ptr<Accelerator> accelerator = nullptr);
  Accelerator* accelerator() const { return accelerator_.get(); }
  void hold() { ++holders_; }
  void drop();

  /// Returns at least `bytes` bytes, uninitialised.
  /// Errors: MemoryError if the limit would be exceeded, before anything is allocated, or if the system refuses.
  Storage take(std::int64_t bytes, Category category);

  /// Bytes in use, those of one category, and bytes taken from the system.
  std::int64_t live() const { return std::accumulate(live_, live_ + category_count, std::int64_t{0}); }
  std::int64_t live(Category category) const { return live_[static_cast<int>(category)]; }
  std::int64_t reserved() const { return reserved_; }

  /// Returns the free pieces to the system.
  void trim();

 private:
  [[gnu::noinline]] void end() { delete this; }  // inlined, g++ 12 would report uses after it where holders are left
  friend class Storage;
  static constexpr int classes = 4 * 64;

  Pool(std::int64_t limit, std::unique_ptr<Accelerator> accelerator) : limit_(limit), accelerator_(std::move(accelerator)) {}
  ~Pool() { trim(); }

  /// Returns the exponent of the next power of two and the quarter below it that the size lies in; 64 bytes are the least.
  static constexpr int class_of(std::int64_t bytes) {
    const auto last = static_cast<std::uint64_t>(bytes < 64 ? 64 : bytes) - 1;
    const auto exponent = static_cast<int>(std::bit_width(last));
    return 4 * exponent + static_cast<int>(last >> (exponent - 3) & 3);
  }
  static constexpr std::int64_t size_of_class(int size_class) {
    return (std::int64_t{5} + size_class % 4) << (size_class / 4 - 3);
  }

  Piece* make_piece(int size_class);

  /// If the system refuses, returns the free pieces to it and tries again.
  std::unique_ptr<Piece> from_system_or_free(std::int64_t bytes);
  std::unique_ptr<Piece> from_system(std::int64_t bytes);

  [[noreturn, gnu::cold]] void refuse(std::int64_t bytes) const;

  std::int64_t limit_, live_[category_count]{}, reserved_ = 0;
  std::int64_t holders_ = 0;
  std::unique_ptr<Accelerator> accelerator_;
  Piece* free_[classes]{};
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/pool.ipp>
#endif
