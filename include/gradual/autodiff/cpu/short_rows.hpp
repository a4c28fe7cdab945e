#pragma once
#include <gradual/autodiff/loop_body.hpp>
#include <gradual/autodiff/step_arguments.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// Reductions of short rows, several side by side: vectors run over rows, with one element of a row in each lane. Rows that
/// fill vectors by themselves are faster one by one.
template <class P, int G>
class ShortRows {
  using Body = LoopBody<P, G>;
  using Row = typename Body::Row;
  static constexpr int columns = static_cast<int>(Body::columns);
  template <int S>
  using Lane = typename Body::template Lane<S>;
  template <int S>
  using Element = typename Body::template Element<S>;

  /// Whether rows are whole vectors of eight, which make up larger ones, and their operands lie in this order.
  static constexpr bool fill_vectors() {
    bool fill = columns % 8 == 0;
    for (int s = 0; s < Body::slots; ++s) {
      const Slot& slot = Body::plan.slots[s];
      fill = fill && (!strided(slot.source) || slot.uniform ||
                      (slot.source != Source::pad && Body::plan.in_order(s, Body::row_axes)));
    }
    return fill;
  }

 public:
  static constexpr bool apply =
      Body::group.row_reduces && !Body::group.batch_reduces && columns > 0 && columns < canonical_lanes && !fill_vectors();
  static constexpr int together = 16;  ///< rows

  /// Computes `together` rows from `first` on.
  template <class Memory>
  GRADUAL_INLINE static void run(const StepArguments& a, const Memory& memory, std::int64_t first) {
    Lanes<> lanes;
    for (int c = 0; c < columns; ++c) {
      GRADUAL_IVDEP
      for (int r = 0; r < together; ++r) {
        Row row;
        Body::start_row(memory, a.random, row, first + r);
        Sink sink{lanes, r};
        Body::element(row, sink, c);
      }
    }
    Body::template for_slots<is_row_reduced>([&](auto s) __attribute__((always_inline)) {
      finish<s()>(lanes, static_cast<Element<s()>*>(memory.out(s())) + first);
    });
  }

 private:
  /// One lane for each column of each row.
  template <int S, bool Used>
  struct LanesOf {};
  template <int S>
  struct LanesOf<S, true> {
    typename Lane<S>::type lane[columns][together];
  };
  template <class Slots = std::make_integer_sequence<int, apply ? Body::slots : 0>>
  struct Lanes;
  template <int... S>
  struct Lanes<std::integer_sequence<int, S...>> : LanesOf<S, is_row_reduced(Body::template slot<S>)>... {};

  struct Sink {
    Lanes<>& lanes;
    int row;
    template <int S, class X>
    GRADUAL_INLINE void reduce(X x, std::int64_t c) {
      static_cast<LanesOf<S, true>&>(lanes).lane[c][row] = Lane<S>::join(Lane<S>::identity(), Lane<S>::of(x, c));
    }
  };

  /// Joins the lanes that exist in canonical order; joining the others would change nothing.
  template <int S>
  GRADUAL_INLINE static void finish(LanesOf<S, true>& lanes, Element<S>* out) {
    auto& lane = lanes.lane;
    for (int half = canonical_lanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half && l + half < columns; ++l) {
        GRADUAL_IVDEP
        for (int r = 0; r < together; ++r) lane[l][r] = Lane<S>::join(lane[l][r], lane[l + half][r]);
      }
    for (int r = 0; r < together; ++r) out[r] = static_cast<Element<S>>(Lane<S>::result(lane[0][r]));
  }
};

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
