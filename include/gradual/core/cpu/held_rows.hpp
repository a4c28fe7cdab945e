#pragma once
#include <gradual/core/cpu/batch_contraction.hpp>
#include <gradual/core/cpu/copy_row.hpp>

namespace gradual::cpu {

/// What a window's unfinished block of a contraction can be kept as in place of its chains: the rows of a and g that it has
/// come to. It is summed once, when it is whole, so that each micro-batch moves its own rows and not all outputs.
template <class E>
class HeldRows {
 public:
  /// Whether they fit where the chains would be.
  static constexpr bool pays(const BatchContractionForm& form) {
    return form.p > 0 && form.p < canonical_block && form.i * form.j >= canonical_block * (form.i + form.j);
  }

  /// `from`: the sample of the window from which on blocks that begin are held; older ones are chains.
  HeldRows(const BatchContractionForm& form, void* memory, std::int64_t from)
      : form_(form), a_(static_cast<E*>(memory)), g_(past(a_, canonical_block * form.i)), from_(from) {}

  /// Takes a part of the rows that go on with a block (`begun`, before `contract`), or begin one that stays unfinished (after).
  template <class T, class W>
  void take(bool begun, const E* a, const E* g, const WindowPart<T, W>& window, Part part) const {
    for (const BlockPiece& piece : window.blocks(form_.p)) {
      if (piece.begins == begun || is_whole(piece) || !is_held(piece.begin)) continue;
      const std::int64_t row = piece.begin - window.begin, to = piece.begin - block_begin(piece.begin, form_.p);
      const auto [first, last] = part.of(piece.count());
      copy_row(a + (row + first) * form_.i, (last - first) * form_.i, a_ + (to + first) * form_.i);
      copy_row(g + (row + first) * form_.j, (last - first) * form_.j, g_ + (to + first) * form_.j);
    }
  }

  /// Adds the blocks that end in a micro-batch: `sum(a, g, window)` is `batch_contraction`, of `part`.
  template <class T, class W, class F>
  void contract(const E* a, const E* g, const WindowPart<T, W>& window, Part part, F sum) const {
    for (const BlockPiece& piece : window.blocks(form_.p)) {
      const std::int64_t row = piece.begin - window.begin;
      const bool first = window.first && row == 0;  // a piece that does not end the micro-batch ends a block
      if (is_whole(piece) || !is_held(piece.begin))
        sum(a + row * form_.i, g + row * form_.j,
            WindowPart<T, W>{window.total, window.open, piece.begin, piece.count(), first, window.last});
      else if (piece.closes) sum_block<T>(piece.end, window.total, nullptr, sum);
      else if (first) clear(window.total, part);
    }
  }

  /// Sums the block that a window has come to with position `at`: its chains to `open`, or, null, to the total.
  template <class T, class W, class F>
  void sum_block(std::int64_t at, W* total, T* open, F sum) const {
    const std::int64_t begin = block_begin(at - 1, form_.p);
    sum(static_cast<const E*>(a_), static_cast<const E*>(g_),
        WindowPart<T, W>{total, open, begin, at - begin, false, open == nullptr});
  }

 private:
  static bool is_whole(const BlockPiece& piece) { return piece.begins && piece.closes; }
  bool is_held(std::int64_t position) const { return block_begin(position, form_.p) / form_.p >= from_; }
  template <class W>
  void clear(W* total, Part part) const {
    const auto [first, last] = part.of(form_.i * form_.j);
    for (std::int64_t i = first; i < last; ++i) total[i] = W{};
  }

  BatchContractionForm form_;
  E *a_, *g_;
  std::int64_t from_;
};

}  // namespace gradual::cpu
