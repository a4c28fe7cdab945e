#pragma once
#include <gradual/autodiff/loop_body.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// Reductions of short rows, several side by side: each lane of a vector has one row. Rows that fill vectors by themselves are
/// faster one by one.
template <class P, int G>
class ShortRows {
  using Body = LoopBody<P, G>;
  static constexpr int columns = Body::columns < canonical_lanes ? static_cast<int>(Body::columns) : 0;

 public:
  static constexpr bool apply = Body::group.row_reduces && !Body::group.batch_reduces && columns > 0 &&
                                !(columns % 8 == 0 && Body::plan.reads_in_order());
  static constexpr int together = 16;  ///< rows

  /// Reduces the operands of slot S of so many rows to a number for each. Joins the lanes that exist in canonical order; joining
  /// the others would change nothing. The operands of a row lie together or, if `SideBySide`, those of a column do.
  template <int S, bool SideBySide>
  GRADUAL_INLINE static void reduce(const typename Body::template Operand<S>* operands,
                                    typename Body::template Element<S>* out) {
    using Lane = typename Body::template Lane<S>;
    typename Lane::type lane[columns][together];
    for (int c = 0; c < columns; ++c) {
      GRADUAL_IVDEP
      for (int r = 0; r < together; ++r) {
        const int at = SideBySide ? c * together + r : r * columns + c;
        lane[c][r] = Lane::join(Lane::identity(), Lane::of(operands[at], c));
      }
    }
    for (int half = canonical_lanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half && l + half < columns; ++l) {
        GRADUAL_IVDEP
        for (int r = 0; r < together; ++r) lane[l][r] = Lane::join(lane[l][r], lane[l + half][r]);
      }
    for (int r = 0; r < together; ++r) out[r] = static_cast<typename Body::template Element<S>>(Lane::result(lane[0][r]));
  }
};

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
