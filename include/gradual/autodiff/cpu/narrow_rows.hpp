#pragma once
#include <gradual/autodiff/loop_body.hpp>
#include <gradual/autodiff/step_arguments.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// Rows that are too short for a vector and are not reduced: vectors run over rows. The elements of a row are written out, so
/// that it is known which are padding.
template <class P, int G>
class NarrowRows {
  using Body = LoopBody<P, G>;
  using Row = typename Body::Row;

  template <Source Of>
  static constexpr bool any = Body::plan.count_of([](const Slot& slot) { return slot.source == Of; }) > 0;

 public:
  /// Where a row begins must be a multiple of its number: joins would need branches, and samples of several rows divisions. The
  /// code of all elements should stay small; beyond half the lanes, `LoopBody::padding` is hidden from the vectoriser.
  static constexpr bool apply = !Body::group.row_reduces && !Body::group.batch_reduces && !any<Source::join> &&
                                Body::row_axes <= 1 && Body::columns > 0 &&
                                Body::columns <= (any<Source::pad> ? canonical_lanes / 2 : 3) &&
                                Body::columns * Body::slots <= 640;

  /// Computes rows [first, last).
  template <class Memory>
  GRADUAL_INLINE static void run(const StepArguments& a, const Memory& memory, std::int64_t first, std::int64_t last) {
    GRADUAL_IVDEP
    GRADUAL_KEEP_LOOP
    for (std::int64_t r = first; r < last; ++r) {
      Row row;
      Body::start_row(memory, a.random, row, r);
      elements(row, std::make_integer_sequence<int, apply ? static_cast<int>(Body::columns) : 0>{});
    }
  }

 private:
  template <int... C>
  GRADUAL_INLINE static void elements(const Row& row, std::integer_sequence<int, C...>) {
    typename Body::NoSink none;
    (Body::element(row, none, C), ...);
  }
};

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
