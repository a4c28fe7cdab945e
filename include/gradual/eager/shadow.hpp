#pragma once
#include <gradual/eager/device.hpp>

namespace gradual::eager {

/// A sum over the samples of a window, kept while its parts come and go: of closed blocks and, where a part has ended
/// inside of one, the chains of that. Positions are those of canonical order, `p` of each sample.
class Shadow {
 public:
  Shadow() = default;
  /// As it was when a part had been added. `open_end`: as below.
  Shadow(Storage total, Storage open, std::int64_t open_end)
      : total_(std::move(total)), open_(std::move(open)), open_end_(open_end), fresh_(false) {}

  /// The sum of closed blocks; undefined while it is fresh, when nothing has been added.
  const Storage& total() const { return total_; }
  bool is_fresh() const { return fresh_; }
  /// The chains of the unfinished block; undefined, or empty, where there is none.
  const Storage& open() const { return open_; }
  bool has_open() const { return open_end_ != 0; }
  /// The position where that block ends; 0: there is none.
  std::int64_t open_end() const { return open_end_; }

  /// Takes memory of `bytes` each for the sum and, where positions [begin, end) begin inside a block or leave one to
  /// those after them, for that. Errors: MemoryError.
  void reserve(const Device& device, std::int64_t bytes, std::int64_t begin, std::int64_t end, std::int64_t p, bool last);

  /// Whether the open block must be added before positions from `begin` on are.
  bool ends_before(std::int64_t begin) const { return open_end_ != 0 && begin >= open_end_; }
  /// Whether positions from `begin` on go on with a block that began with other sums.
  bool lacks_block_of(std::int64_t begin, std::int64_t p) const;
  /// Positions up to `end` have been added.
  void extend(std::int64_t end, std::int64_t p, bool last);
  /// The open block has been added, or zeros to what was fresh.
  void close();

  /// Whether none of `count` values of type T of the sum, or of its open block, is infinite or NaN.
  template <class T>
  bool is_finite(const Device& device, std::int64_t count) const {
    return (fresh_ || device.all_finite(total_.as<const T>(), count)) &&
           (open_end_ == 0 || device.all_finite(open_.as<const T>(), count));
  }
  /// A copy of `bytes` each with memory of its own; what is fresh holds nothing, so that memory may be shared. Errors:
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
