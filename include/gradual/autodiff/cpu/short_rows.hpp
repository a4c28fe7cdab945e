#pragma once
#include <gradual/autodiff/loop_body.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// Reductions of short rows, several side by side: vectors run over rows, with one lane of a row in each of theirs. Rows that
/// fill vectors by themselves are faster one by one.
template <class P, int G>
class ShortRows {
  using Body = LoopBody<P, G>;
  static constexpr int columns = static_cast<int>(Body::columns);

  /// Whether rows are whole vectors of eight, which make up larger ones.
  static constexpr bool fill_vectors() { return columns % 8 == 0 && Body::plan.reads_in_order(); }

 public:
  static constexpr bool apply =
      Body::group.row_reduces && !Body::group.batch_reduces && columns > 0 && columns < canonical_lanes && !fill_vectors();
  static constexpr int together = columns >= 4 ? 16 : columns > 0 ? 64 / columns : 0;  ///< rows

  /// Reduces the operands of slot S of `rows` rows, at most `together`, to a number for each. Joins the lanes that exist in
  /// canonical order; joining the others would change nothing. Rows that are missing repeat others, and so raise no other
  /// floating-point exceptions.
  template <int S>
  GRADUAL_INLINE static void reduce(typename Body::template Operand<S>* operands, int rows,
                                    typename Body::template Element<S>* out) {
    using Lane = typename Body::template Lane<S>;
    for (int i = rows * columns; i < together * columns; ++i) operands[i] = operands[i - rows * columns];
    typename Lane::type lane[columns][together];
    for (int c = 0; c < columns; ++c) {
      GRADUAL_IVDEP
      for (int r = 0; r < together; ++r) lane[c][r] = Lane::join(Lane::identity(), Lane::of(operands[r * columns + c], c));
    }
    for (int half = canonical_lanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half && l + half < columns; ++l) {
        GRADUAL_IVDEP
        for (int r = 0; r < together; ++r) lane[l][r] = Lane::join(lane[l][r], lane[l + half][r]);
      }
    for (int r = 0; r < rows; ++r) out[r] = static_cast<typename Body::template Element<S>>(Lane::result(lane[0][r]));
  }
};

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
