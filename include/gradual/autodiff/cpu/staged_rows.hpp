#pragma once
#include <cstddef>
#include <numeric>

#include <gradual/autodiff/cpu/narrow_rows.hpp>
#include <gradual/autodiff/cpu/rows_together.hpp>
#include <gradual/core/cpu/simd.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// Loops over rows that would leave elements outside vectors, since these are short or read in another order. What is given is
/// copied first, and everything else computed from the copies: of one row, or of as many rows as fill vectors.
template <class P, int G>
class StagedRows {
  using Body = LoopBody<P, G>;
  using Row = typename Body::Row;
  template <int S>
  using Element = typename Body::template Element<S>;
  template <int S>
  using Operand = typename Body::template Operand<S>;

  /// Whether short rows are reduced, several side by side: each lane of a vector has one row. Rows that fill vectors by
  /// themselves are faster one by one.
  static constexpr bool reduces_short = Body::group.row_reduces && !Body::group.batch_reduces && Body::columns > 0 &&
                                        Body::columns < canonical_lanes &&
                                        !(Body::columns % 8 == 0 && Body::plan.reads_in_order());
  /// Whether compilers make whole vectors of a row, or few that are shorter.
  static constexpr bool is_vectors() {
    constexpr int width = Vec<float>::width < 8 ? Vec<float>::width : 8;
    return Body::plan.reads_in_order() && (Body::columns % width == 0 || (Body::columns > 16 && Body::columns % 4 == 0));
  }
  /// Whether copies cost less than elements outside vectors do, by what was measured in nanoseconds: 1.5 for each copied number,
  /// 1 for each op or sum outside vectors, and 10 for a costly one.
  static constexpr bool pays() {
    std::int64_t ops = 0, copies = 0, left = Body::columns;
    for (int s = 0; s < Body::slots; ++s) {
      const Slot& slot = Body::plan.slots[s];
      if (slot.source == Source::map && !slot.uniform) ops += slot.costly ? 10 : 1;
      if (slot.source == Source::batch_reduce) ++ops;
      copies += gradual::is_copied(slot, Staging::rows);
    }
    if (Body::plan.reads_in_order()) left %= Body::columns < 16 ? 8 : 4;
    return 2 * left * ops > 3 * Body::columns * copies;
  }
  /// Whether vectors run over short rows that lie side by side, without copies: if no op is costly, or more would be copied than
  /// is loaded and stored, without tests for padding. g++ makes no such vectors of rows of four and fewer.
  static constexpr bool choose_directly() {
    if (!reduces_short || Body::columns <= 4) return false;
    int copies = 0, others = 0;
    bool costly = false, pads = false;
    for (int s = 0; s < Body::slots; ++s) {
      const Slot& slot = Body::plan.slots[s];
      copies += gradual::is_copied(slot, Staging::rows);
      others += (slot.source == Source::load) + (slot.stored && slot.source == Source::map);
      costly = costly || (slot.costly && !slot.uniform);
      pads = pads || slot.source == Source::pad || slot.source == Source::join;
    }
    return !costly || (copies > others && !pads);
  }
  static constexpr Staging choose() {
    constexpr bool sums_batch = Body::group.batch_reduces, reduces = Body::group.row_reduces;
    if (reduces_short) return Staging::rows;
    if (Body::columns <= 0 || (reduces && sums_batch) || NarrowRows<P, G>::apply) return Staging::none;
    if (!reduces && Body::columns < 64) return !is_vectors() && pays() ? Staging::rows : Staging::none;
    const bool whole_lanes = Body::columns >= canonical_lanes && !sums_batch && !Body::plan.reads_in_order();
    return whole_lanes && (reduces || pays()) ? Staging::row : Staging::none;
  }

 public:
  static constexpr Staging staging = choose();

 private:
  static constexpr bool directly = choose_directly();
  static constexpr int columns = staging == Staging::rows ? static_cast<int>(Body::columns) : canonical_lanes;

  /// Returns how many rows fill vectors of eight: some 64 elements or, where these would be many, as good as that.
  static constexpr int choose_together() {
    const int filling = 8 / std::gcd(8, columns), elements = filling * columns;
    return elements > 256 ? 256 / columns : filling * ((63 + elements) / elements);
  }

 public:
  static constexpr int together = reduces_short ? 16 : choose_together();  ///< the most rows at once
  /// Whether it also computes fewer: reductions side by side would take as long for few rows as for all.
  static constexpr bool takes_fewer = !reduces_short;

  /// Computes `rows` rows from `first` on; sums over the batch go to `sink`.
  template <class Memory, class Sink>
  GRADUAL_INLINE void run_rows(const Memory& memory, const Randomness& random, std::int64_t first, int rows, Sink& sink) {
    const auto begin_row = [&](int r) __attribute__((always_inline)) {
      Row row;
      Body::start_row(memory, random, row, first + r);
      return row;
    };
    if constexpr (directly) {
      for (int c = 0; c < columns; ++c) {
        GRADUAL_IVDEP
        for (int r = 0; r < rows; ++r) {
          Operands<together> operands{*this, r};
          Body::element(begin_row(r), operands, c);
        }
      }
    } else {
      if constexpr (columns < 4) {
        for (int c = 0; c < columns; ++c) {
          GRADUAL_IVDEP
          for (int r = 0; r < rows; ++r) copy_element(begin_row(r), c, r * columns + c);
        }
      } else {
        for (int r = 0; r < rows; ++r) copy_columns(begin_row(r), 0, columns, r * columns);
      }
      Operands<1> operands{*this, 0};
      compute(begin_row(0), 0, rows * columns, operands);
    }
    Body::template for_slots<is_row_reduced>([&](auto s) __attribute__((always_inline)) {
      reduce_rows_together<typename Body::template Lane<s()>, columns, together, directly>(
          values<s(), Operand<s()>>(), static_cast<Element<s()>*>(memory.out(s())) + first);
    });
    Body::template for_slots<is_batch_reduced>([&](auto s) __attribute__((always_inline)) {
      for (int r = 0; r < rows; ++r) {
        GRADUAL_IVDEP
        GRADUAL_KEEP_LOOP
        for (int c = 0; c < columns; ++c) sink.template reduce<s()>(values<s(), Operand<s()>>()[r * columns + c], c);
      }
    });
  }

  /// Computes a row, of which element c is reduced to lane c mod 32 of `sink`.
  template <class Sink>
  GRADUAL_INLINE void run_row(const Row& row, Sink& sink) {
    constexpr int left = static_cast<int>(Body::columns % columns);
    for (std::int64_t c = 0; c < Body::columns - left; c += columns) run_lanes(row, c, columns, sink);
    if constexpr (left > 0) run_lanes(row, Body::columns - left, left, sink);
  }

 private:
  static constexpr bool is_copied(const Slot& slot) { return !directly && gradual::is_copied(slot, staging); }
  static constexpr bool has_values(const Slot& slot) {
    return is_copied(slot) || (staging == Staging::rows && is_reduced(slot));
  }
  /// The index of a slot among those with values.
  static constexpr int index_of(int s) {
    return Body::plan.count_of(has_values, s);
  }
  /// The bytes of the largest number.
  static constexpr std::size_t largest() {
    for (int s = 0; s < Body::slots; ++s)
      if (Body::plan.slots[s].dtype == DType::f64) return 8;
    return 4;
  }
  /// Copies, and operands of reductions.
  alignas(64) std::byte values_[index_of(Body::slots) + 1][(staging == Staging::rows ? together : 1) * columns * largest()];

  template <int S, class E = Element<S>>
  GRADUAL_INLINE E* values() {
    return reinterpret_cast<E*>(values_[index_of(S)]);
  }

  /// Copies what is given of column c of a row to place `at`.
  GRADUAL_INLINE void copy_element(const Row& row, std::int64_t c, int at) {
    typename Body::Values v;
    Body::template read_element<is_given_with_element>(row, v, c);
    Body::template for_slots<is_copied>([&](auto s) __attribute__((always_inline)) {
      const typename Body::Values& of = Body::template slot<s()>.uniform ? row.uniform : v;
      values<s()>()[at] = static_cast<Element<s()>>(of.template of<typename Body::template T<s()>>()[s()]);
    });
  }
  /// Copies `count` columns from `from` on to places from `at` on.
  GRADUAL_INLINE void copy_columns(const Row& row, std::int64_t from, int count, int at) {
    GRADUAL_IVDEP
    for (int i = 0; i < count; ++i) copy_element(row, from + i, at + i);
  }

  template <class Sink>
  GRADUAL_INLINE void run_lanes(const Row& row, std::int64_t from, int count, Sink& sink) {
    copy_columns(row, from, count, 0);
    Lanes<Sink> lanes{sink, from};
    compute(row, from, count, lanes);
  }

  /// Computes `count` elements from the copies. What is loaded or stored without them is that from column `from` on.
  template <class Sink>
  GRADUAL_INLINE void compute(Row row, std::int64_t from, int count, Sink& sink) {
    Body::template for_slots<begins_with_row>([&](auto s) __attribute__((always_inline)) {
      constexpr const Slot& slot = Body::template slot<s()>;
      if constexpr (is_copied(slot)) row.in[s()] = values<s()>();
      else if constexpr (slot.source == Source::load) row.in[s()] = static_cast<const Element<s()>*>(row.in[s()]) + from;
      if constexpr (slot.stored && !is_row_reduced(slot))
        row.out[s()] = static_cast<Element<s()>*>(row.out[s()]) + from;
    });
    GRADUAL_IVDEP
    GRADUAL_KEEP_LOOP
    for (int i = 0; i < count; ++i) LoopBody<P, G, staging>::element(row, sink, i);
  }

  /// Where operands of reductions of several rows wait until all are computed: each `Apart` numbers from the one before.
  template <int Apart>
  struct Operands {
    StagedRows& rows;
    int first;
    template <int S, class X>
    GRADUAL_INLINE void reduce(X x, std::int64_t i) {
      rows.template values<S, X>()[i * Apart + first] = x;
    }
  };
  /// Lanes of one row, from a multiple of 32 columns on.
  template <class Sink>
  struct Lanes {
    Sink& sink;
    std::int64_t from;
    template <int S, class X>
    GRADUAL_INLINE void reduce(X x, std::int64_t i) {
      using Joined = typename Body::template Lane<S>;
      const int lane = static_cast<int>(i);
      sink.template put<S>(lane, Joined::join(sink.template get<S>(lane), Joined::of(x, from + i)));
    }
  };
};

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
