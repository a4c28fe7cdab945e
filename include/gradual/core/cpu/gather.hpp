#pragma once
#include <algorithm>

#include <gradual/core/cpu/batch_contraction.hpp>
#include <gradual/core/cpu/copy_row.hpp>

namespace gradual::cpu {

/// y[s] = table[index[s]] for `count` positions, in rows of `width`. Computes one part of the positions.
template <class T>
void gather(const T* table, const std::int32_t* index, T* y, std::int64_t count, std::int64_t width, Part part = {}) {
  const auto [first, last] = part.of(count);
  for (std::int64_t s = first; s < last; ++s) copy_row(table + index[s] * width, width, y + s * width);
}

/// For each of up to `canonical_block` positions, the first one that names the same row.
class FirstNamed {
 public:
  FirstNamed(const std::int32_t* named, std::int64_t count) {
    std::uint8_t known[slots]{};  // 1 + a position, in the slot that its row hashes to or one after it
    for (std::int64_t s = 0; s < count; ++s) {
      std::uint32_t slot = static_cast<std::uint32_t>(named[s]) * 0x9e3779b1u >> (32 - slot_bits);  // Knuth 1998, 6.4
      while (known[slot] != 0 && named[known[slot] - 1] != named[s]) slot = (slot + 1) % slots;
      if (known[slot] == 0) known[slot] = static_cast<std::uint8_t>(s + 1);
      position_[s] = static_cast<std::uint8_t>(known[slot] - 1);
    }
  }
  std::int64_t operator[](std::int64_t s) const { return position_[s]; }

 private:
  static constexpr int slot_bits = 8;
  static constexpr std::uint32_t slots = 1 << slot_bits;
  static_assert(2 * canonical_block <= slots && canonical_block < 256);

  std::uint8_t position_[canonical_block];
};

/// total[index[s]] += g[s] over the positions of a window, p in each sample, in canonical order: a row's chain within a block
/// consists of the positions that name it. However a window is cut into parts, the bits are the same. `workspace` has room for
/// a block of rows. Computes one part of the columns or, if tables are too narrow for that, of the rows.
template <class E, class T, class W = T>
[[gnu::noinline]] void batch_scatter(const E* g, const std::int32_t* index, std::int64_t rows, std::int64_t width,
                                     std::int64_t p, const WindowPart<T, W>& window, T* workspace, Part part = {}) {
  const bool by_columns = width >= 16 * part.count;
  const Part::Range columns = by_columns ? part.of(width, 16) : Part::Range{0, width};
  const Part::Range here = by_columns ? Part::Range{0, rows} : part.of(rows, 16);
  const auto is_here = [here](std::int32_t row) { return row >= here.begin && row < here.end; };
  const auto for_columns = [columns](auto* to, const auto* from) {
    GRADUAL_IVDEP
    for (std::int64_t c = columns.begin; c < columns.end; ++c) to[c] += static_cast<T>(from[c]);
  };
  const auto clear_row = [columns](auto* row) {
    std::fill(row + columns.begin, row + columns.end, std::remove_reference_t<decltype(*row)>{});
  };
  const auto clear = [columns, here, width, clear_row](auto* to) {
    using N = std::remove_reference_t<decltype(*to)>;
    if (columns.end - columns.begin == width)  // avoids a call for each row
      return void(std::fill(to + here.begin * width, to + here.end * width, N{}));
    for (std::int64_t r = here.begin; r < here.end; ++r) clear_row(to + r * width);
  };
  if (window.first && window.count > 0) clear(window.total);
  for (const BlockPiece& piece : window.blocks(p)) {
    const std::int64_t count = piece.count();
    const E* values = g + (piece.begin - window.begin) * width;
    const std::int32_t* named = index + (piece.begin - window.begin);
    if (piece.begins && piece.closes) {  // chains of the rows named, each kept where its row is first named
      const FirstNamed first_named(named, count);
      for (std::int64_t s = 0; s < count; ++s) {
        if (!is_here(named[s])) continue;
        const std::int64_t at = first_named[s];
        if (at == s) clear_row(workspace + s * width);
        for_columns(workspace + at * width, values + s * width);
      }
      for (std::int64_t s = 0; s < count; ++s)
        if (first_named[s] == s && is_here(named[s])) for_columns(window.total + named[s] * width, workspace + s * width);
    } else {
      if (piece.begins) clear(window.open);
      for (std::int64_t s = 0; s < count; ++s)
        if (is_here(named[s])) for_columns(window.open + named[s] * width, values + s * width);
      for (std::int64_t r = here.begin; r < here.end && piece.closes; ++r)
        for_columns(window.total + r * width, window.open + r * width);
    }
  }
}

/// Returns the elements of workspace that `batch_scatter` needs.
constexpr std::int64_t scatter_workspace(std::int64_t width) { return canonical_block * width; }

}  // namespace gradual::cpu
