#pragma once
#include <gradual/train/largest_buffers.hpp>

namespace gradual::detail {

/// A training layout whose net and optimizer are forgotten: what plans with it is compiled once, not for each of them.
struct AnyLayout {
  struct Type {
    std::int64_t block_samples, countable_batch;
    std::int64_t states, state_bytes;  ///< of the optimizer, each like the parameters
    std::int64_t narrow_sum_bytes;     ///< of a window, were it summed in what its parameters are
    LayoutChoice (*choose)(std::int64_t micro_batch, std::int64_t window, OpenBlocks, int threads, const WindowExtras&);
    MemoryTable (*table)(const LayoutChoice&, bool gather, std::int64_t frozen);
    LargestBuffers (*largest_buffers)(const LayoutChoice&, bool gather);
  };

  template <class Layout>
  AnyLayout(const Layout& layout) : type(&type_of<Layout>), choice(layout.choice()) {}
  AnyLayout(const Type* of, const LayoutChoice& chosen) : type(of), choice(chosen) {}

  /// Errors: ShapeError for a micro-batch whose bytes cannot be counted.
  MemoryTable table(bool gather, std::int64_t frozen) const { return type->table(choice, gather, frozen); }
  /// The same persistent memory, with another micro-batch.
  AnyLayout with_micro_batch(std::int64_t micro_batch) const {
    AnyLayout other = *this;
    other.choice.micro_batch = micro_batch;
    return other;
  }
  /// The same without the open blocks of products: parts must then end where blocks end.
  AnyLayout without_open_blocks() const {
    AnyLayout other = *this;
    other.choice.open_blocks = false;
    return other;
  }

  template <class L>
  static constexpr Type type_of{
      L::block_samples(), countable_batch<typename L::Training>(), L::states, L::arena, L::sum_bytes(sizeof(typename L::Real)),
      [](std::int64_t micro_batch, std::int64_t window, OpenBlocks open, int threads, const WindowExtras& extras) {
        return L(micro_batch, window, open, threads, extras).choice();
      },
      [](const LayoutChoice& choice, bool gather, std::int64_t frozen) { return L(choice).table(gather, frozen); },
      [](const LayoutChoice& choice, bool gather) { return largest_buffers(L(choice), gather); }};

  const Type* type;
  LayoutChoice choice;
};

}  // namespace gradual::detail
