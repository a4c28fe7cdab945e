#pragma once
#include <gradual/autodiff/layout.hpp>

namespace gradual {

/// The batches for which layouts are found; at any batch, the best of these layouts is used.
inline constexpr std::int64_t reference_batches[] = {1, 16, 1024};
inline constexpr int layout_count = 3;

/// A plan without its size in the type.
struct PlanTables {
  struct Neighbours {
    const int *below, *above, *order;  ///< of a `Layout`
  };
  int count = 0;
  const Lifetime* lifetimes = nullptr;
  const int* lifetime_of = nullptr;
  Neighbours layouts[layout_count]{};

  /// Writes the offset of each lifetime and returns the block's bytes.
  template <class = void>  // so that gradual::kernels can have the code
  [[gnu::noinline]] constexpr std::int64_t offsets(std::int64_t batch, std::int64_t* offset) const {
    const Neighbours* best = layouts;
    std::int64_t least = offsets(layouts[0], batch, offset);
    for (int k = 1; k < layout_count; ++k)
      if (const std::int64_t bytes = offsets(layouts[k], batch, offset); bytes < least) best = &layouts[k], least = bytes;
    return offsets(*best, batch, offset);
  }

 private:
  static constexpr void raise(std::int64_t& value, std::int64_t least) { value = value < least ? least : value; }
  constexpr std::int64_t offsets(const Neighbours& layout, std::int64_t batch, std::int64_t* offset) const {
    for (int i = 0; i < count; ++i) offset[i] = 0;
    std::int64_t total = 0;
    for (int k = 0; k < count; ++k) {
      const int here = layout.order[k], below = layout.below[here], above = layout.above[here];
      if (below >= 0) raise(offset[here], offset[below] + lifetimes[below].bytes(batch));
      const std::int64_t top = offset[here] + lifetimes[here].bytes(batch);
      if (above >= 0) raise(offset[above], top);
      raise(total, top);
    }
    return total;
  }
};

/// The place of every value in the transient block, for any batch: the best of a few layouts.
template <int N>
struct TransientPlan : Lifetimes<N> {
  Layout<N> layouts[layout_count]{};

  constexpr PlanTables tables() const {
    PlanTables result{this->count, this->lifetimes, this->lifetime_of, {}};
    for (int k = 0; k < layout_count; ++k) result.layouts[k] = {layouts[k].below, layouts[k].above, layouts[k].order};
    return result;
  }
  /// As `PlanTables::offsets`.
  constexpr std::int64_t offsets(std::int64_t batch, std::int64_t* offset) const { return tables().offsets(batch, offset); }
  constexpr std::int64_t bytes(std::int64_t batch) const {
    AtLeastOne<std::int64_t, N> offset{};
    return offsets(batch, offset);
  }
};

}  // namespace gradual
