#pragma once
#include <gradual/core/canonical.hpp>
#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/core/cpu/part.hpp>
#include <gradual/core/cpu/tile.hpp>
#include <gradual/core/cpu/window_part.hpp>

namespace gradual::cpu {

/// Rows of i and of j elements, p of each per sample, and the number of outputs of their sum.
struct HeldRowsForm {
  std::int64_t i, j, p, outputs;

  /// Whether the rows of a block fit in the place of its chains.
  constexpr bool pays() const { return p > 0 && p < canonical_block && outputs >= canonical_block * (i + j); }
};

/// A window's unfinished block of a sum over positions, kept not as chains but as the rows of a and g received so far. It is
/// summed once, when it is whole, so that each micro-batch moves only its own rows, not all outputs.
template <class A, class G = A>
class HeldRows {
 public:
  /// `from`: the sample of the window from which on new blocks are held; older blocks are chains.
  HeldRows(const HeldRowsForm& form, void* memory, std::int64_t from)
      : form_(form), a_(static_cast<A*>(memory)), g_(reinterpret_cast<G*>(past(a_, canonical_block * form.i))), from_(from) {}

  /// Takes a part of the rows that continue a block (`begun`, before `contract`) or begin one that stays unfinished (after it).
  template <class T, class W>
  void take(bool begun, const A* a, const G* g, const WindowPart<T, W>& window, Part part) const {
    for (const BlockPiece& piece : window.blocks(form_.p)) {
      if (piece.begins == begun || is_whole(piece) || !is_held(piece.begin)) continue;
      const std::int64_t row = piece.begin - window.begin, to = piece.begin - block_begin(piece.begin, form_.p);
      const auto [first, last] = part.of(piece.count());
      copy_row(a + (row + first) * form_.i, (last - first) * form_.i, a_ + (to + first) * form_.i);
      copy_row(g + (row + first) * form_.j, (last - first) * form_.j, g_ + (to + first) * form_.j);
    }
  }

  /// Adds the blocks that end in a micro-batch: `sum(a, g, window)` sums them, for `part` of the outputs.
  template <class T, class W, class F>
  void contract(const A* a, const G* g, const WindowPart<T, W>& window, Part part, F sum) const {
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

  /// Sums the unfinished block of a window up to position `at`: its chains to `open` or, if that is null, to the total.
  template <class T, class W, class F>
  void sum_block(std::int64_t at, W* total, T* open, F sum) const {
    const std::int64_t begin = block_begin(at - 1, form_.p);
    sum(static_cast<const A*>(a_), static_cast<const G*>(g_),
        WindowPart<T, W>{total, open, begin, at - begin, false, open == nullptr});
  }

 private:
  static bool is_whole(const BlockPiece& piece) { return piece.begins && piece.closes; }
  bool is_held(std::int64_t position) const { return block_begin(position, form_.p) / form_.p >= from_; }
  template <class W>
  void clear(W* total, Part part) const {
    const auto [first, last] = part.of(form_.outputs);
    for (std::int64_t i = first; i < last; ++i) total[i] = W{};
  }

  HeldRowsForm form_;
  A* a_;
  G* g_;
  std::int64_t from_;
};

}  // namespace gradual::cpu
