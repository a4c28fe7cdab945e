#pragma once
#include <gradual/core/canonical.hpp>
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

  /// Of closed blocks; anything while it is fresh: nothing has been added then.
  const Storage& total() const { return total_; }
  bool is_fresh() const { return fresh_; }
  /// The chains of the block that is not finished; anything, or nothing, where there is none.
  const Storage& open() const { return open_; }
  bool has_open() const { return open_end_ != 0; }
  /// The position where that block ends; 0: there is none.
  std::int64_t open_end() const { return open_end_; }

  /// Takes memory of `bytes` each for the sum and, where positions [begin, end) begin inside a block or leave one to
  /// those after them, for that. Errors: MemoryError.
  void reserve(const Device& device, std::int64_t bytes, std::int64_t begin, std::int64_t end, std::int64_t p,
               bool last) {
    const auto inside = [p](std::int64_t position) { return p > 0 && block_begin(position, p) != position; };
    if (total_.empty()) total_ = device.allocate(bytes, Category::gradients);
    if (open_.empty() && (inside(begin) || (!last && inside(end)))) open_ = device.allocate(bytes, Category::gradients);
  }

  /// Whether the open block must be added before positions from `begin` on are.
  bool ends_before(std::int64_t begin) const { return open_end_ != 0 && begin >= open_end_; }
  /// Whether positions from `begin` on go on with a block that began with other sums.
  bool lacks_block_of(std::int64_t begin, std::int64_t p) const {
    return open_end_ == 0 && block_begin(begin, p) != begin;
  }
  /// Positions up to `end` have been added.
  void extend(std::int64_t end, std::int64_t p, bool last) {
    fresh_ = false;
    open_end_ = last || block_begin(end, p) == end ? 0 : block_end(end, p);
  }
  /// The open block has been added, or zeros to what was fresh.
  void close() {
    fresh_ = false;
    open_end_ = 0;
  }

  /// Whether none of `count` values of type T of the sum, or of its open block, is infinite or NaN.
  template <class T>
  bool is_finite(const Device& device, std::int64_t count) const {
    return (fresh_ || device.all_finite(total_.as<const T>(), count)) &&
           (open_end_ == 0 || device.all_finite(open_.as<const T>(), count));
  }
  /// A copy of `bytes` each with memory of its own; what is fresh holds nothing, so that memory may be shared. Errors:
  /// MemoryError.
  Shadow copy(const Device& device, std::int64_t bytes) const {
    if (fresh_) return *this;
    const auto copied = [&](const Storage& from) {
      Storage to = device.allocate(bytes, Category::gradients);
      device.copy(to.data(), from.data(), bytes);
      return to;
    };
    Storage total = copied(total_);
    return {std::move(total), has_open() ? copied(open_) : Storage(), open_end_};
  }

 private:
  Storage total_, open_;
  std::int64_t open_end_ = 0;
  bool fresh_ = true;
};

}  // namespace gradual::eager
