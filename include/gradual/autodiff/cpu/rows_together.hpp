#pragma once
#include <gradual/core/canonical.hpp>
#include <gradual/core/config.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// Reduces `Rows` rows, each of fewer numbers than there are lanes, to one number each. Joins the lanes that exist in canonical
/// order; joining the others would change nothing. `ByColumn`: the numbers of a column lie together, else those of a row. Not
/// inlined, so that kernels share it: inside each, compilers took several times as long, for three times the code.
template <class Lane, int Columns, int Rows, bool ByColumn, class X, class E>
[[gnu::noinline, gnu::flatten]] GRADUAL_KERNEL_CODE void reduce_rows_together(const X* numbers, E* out) {
  typename Lane::type lane[Columns][Rows];
  for (int c = 0; c < Columns; ++c) {
    GRADUAL_IVDEP
    for (int r = 0; r < Rows; ++r)
      lane[c][r] = Lane::join(Lane::identity(), Lane::of(numbers[ByColumn ? c * Rows + r : r * Columns + c], c));
  }
  for (int half = canonical_lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half && l + half < Columns; ++l) {
      GRADUAL_IVDEP
      for (int r = 0; r < Rows; ++r) lane[l][r] = Lane::join(lane[l][r], lane[l + half][r]);
    }
  for (int r = 0; r < Rows; ++r) out[r] = static_cast<E>(Lane::result(lane[0][r]));
}

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
