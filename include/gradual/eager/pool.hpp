#pragma once
#include <bit>
#include <memory>
#include <numeric>

#include <gradual/eager/accelerator.hpp>

namespace gradual::eager {

/// Memory that is taken and given back again and again: free pieces wait in lists by size, four sizes to each power of
/// two. Lives as long as anything that was taken from it.
class Pool {
 public:
  /// `accelerator`: whose memory it is; null: the processor's.
  static Pool* make(std::int64_t limit, std::unique_ptr<Accelerator> accelerator = nullptr);
  Accelerator* accelerator() const { return accelerator_.get(); }
  void hold() { ++holders_; }
  void drop();

  /// At least `bytes` bytes, with whatever they held before.
  /// Errors: MemoryError where the limit would be exceeded, before anything is allocated, or the system refuses.
  Storage take(std::int64_t bytes, Category category);

  /// Bytes that are in use, that are taken from the system, and that may be.
  std::int64_t live() const { return std::accumulate(live_, live_ + category_count, std::int64_t{0}); }
  std::int64_t live(Category category) const { return live_[static_cast<int>(category)]; }
  std::int64_t reserved() const { return reserved_; }

  /// Gives the free pieces back to the system.
  void trim();

 private:
  [[gnu::noinline]] void end() { delete this; }  // inlined, g++ 12 sees uses of it where another holder is left
  friend class Storage;
  static constexpr int classes = 4 * 64;

  Pool(std::int64_t limit, std::unique_ptr<Accelerator> accelerator) : limit_(limit), accelerator_(std::move(accelerator)) {}
  ~Pool() { trim(); }

  /// The exponent of the next power of two, and in which quarter below it the size lies; 64 bytes are the least.
  static constexpr int class_of(std::int64_t bytes) {
    const auto last = static_cast<std::uint64_t>(bytes < 64 ? 64 : bytes) - 1;
    const auto exponent = static_cast<int>(std::bit_width(last));
    return 4 * exponent + static_cast<int>(last >> (exponent - 3) & 3);
  }
  static constexpr std::int64_t size_of_class(int size_class) {
    return (std::int64_t{5} + size_class % 4) << (size_class / 4 - 3);
  }

  Piece* make_piece(int size_class);

  /// Where the system refuses, it is asked again once it has the free pieces.
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
