#pragma once
#include <gradual/eager/device.hpp>

namespace gradual::eager {

/// A sum over the samples of a window, kept from part to part: the sum of closed blocks and, if a part has ended inside a
/// block, the chains of that block. Positions are those of canonical order, `p` for each sample.
class Shadow {
 public:
  Shadow() = default;
  /// Restores a sum to which parts have been added. `open_end`: see below.
  Shadow(Storage total, Storage open, std::int64_t open_end)
      : total_(std::move(total)), open_(std::move(open)), open_end_(open_end), fresh_(false) {}

  /// Returns the sum of closed blocks; undefined while it is fresh, that is, nothing has been added.
  const Storage& total() const { return total_; }
  bool is_fresh() const { return fresh_; }
  /// Returns the chains of the unfinished block; undefined, or empty, if there is none.
  const Storage& open() const { return open_; }
  bool has_open() const { return open_end_ != 0; }
  /// Returns the position where that block ends; 0: there is none.
  std::int64_t open_end() const { return open_end_; }

  /// Allocates `bytes` for the sum and, if positions [begin, end) begin inside a block or leave one unfinished, `bytes` for its
  /// chains. Errors: MemoryError.
  void reserve(const Device& device, std::int64_t bytes, std::int64_t begin, std::int64_t end, std::int64_t p, bool last);

  /// Whether the open block must be added before positions from `begin` on are.
  bool ends_before(std::int64_t begin) const { return open_end_ != 0 && begin >= open_end_; }
  /// Whether positions from `begin` on continue a block that began in other sums.
  bool lacks_block_of(std::int64_t begin, std::int64_t p) const;
  /// Records that positions up to `end` have been added.
  void extend(std::int64_t end, std::int64_t p, bool last);
  /// Records that the open block has been added, or zeros to a fresh sum.
  void close();

  /// Whether none of the `count` values of type T of the sum or of its open block is infinite or NaN.
  template <class T>
  bool is_finite(const Device& device, std::int64_t count) const {
    return (fresh_ || device.all_finite(total_.as<const T>(), count)) &&
           (open_end_ == 0 || device.all_finite(open_.as<const T>(), count));
  }
  /// Returns a copy with memory of its own, `bytes` each; a fresh sum holds nothing, so its memory may be shared. Errors:
  /// MemoryError.
  Shadow copy(const Device& device, std::int64_t bytes) const;

 private:
  Storage total_, open_;
  std::int64_t open_end_ = 0;
  bool fresh_ = true;
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/shadow.ipp>
#endif
