#pragma once
#include <cstddef>
#include <numeric>

#include <gradual/autodiff/cpu/short_rows.hpp>
#include <gradual/core/cpu/simd.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// Loops over rows that would leave elements outside vectors, since these are short or read in another order. What is given is
/// copied first, and everything else computed from the copies: of one row, or of as many rows as fill vectors.
template <class P, int G>
class StagedRows {
  using Body = LoopBody<P, G>;
  using Row = typename Body::Row;
  using Short = ShortRows<P, G>;
  template <int S>
  static constexpr Slot slot = Body::template slot<S>;
  template <int S>
  using Element = typename Body::template Element<S>;
  template <int S>
  using Operand = typename Body::template Operand<S>;

  /// Whether compilers make vectors of eight, or of eight and four, of a row.
  static constexpr bool is_vectors() {
    return Body::plan.reads_in_order() && (Body::columns % 8 == 0 || (Body::columns > 16 && Body::columns % 4 == 0));
  }
  /// Whether copies cost less than elements outside vectors do: sums over the batch of short rows have many.
  static constexpr bool pays() {
    bool pays = Body::group.batch_reduces && Body::columns > 1;
    for (int s = 0; s < Body::slots; ++s) pays = pays || (Body::plan.slots[s].costly && !Body::plan.slots[s].uniform);
    return pays;
  }
  static constexpr Staging choose() {
    constexpr bool sums_batch = Body::group.batch_reduces, reduces = Body::group.row_reduces;
    if (Short::apply) return Staging::rows;
    if (Body::columns <= 0 || (reduces && sums_batch)) return Staging::none;
    if (!reduces && Body::columns < 64) return !is_vectors() && pays() ? Staging::rows : Staging::none;
    const bool whole_lanes = Body::columns >= canonical_lanes && !sums_batch && !Body::plan.reads_in_order();
    return whole_lanes && (reduces || pays()) ? Staging::row : Staging::none;
  }

 public:
  static constexpr Staging staging = choose();

 private:
  static constexpr int columns = staging == Staging::rows ? static_cast<int>(Body::columns) : canonical_lanes;
  static constexpr int filling = Vec<float>::width / std::gcd(Vec<float>::width, columns);  ///< rows that are whole vectors

 public:
  /// The most rows at once: some 64 elements.
  static constexpr int together = Short::apply ? Short::together : filling * ((63 + filling * columns) / (filling * columns));

  /// Computes `rows` rows from `first` on; sums over the batch go to `sink`.
  template <class Memory, class Sink>
  GRADUAL_INLINE void run_rows(const Memory& memory, const Randomness& random, std::int64_t first, int rows, Sink& sink) {
    const auto begin_row = [&](int r) __attribute__((always_inline)) {
      Row row;
      Body::start_row(memory, random, row, first + r);
      return row;
    };
    if constexpr (columns < 4) {
      for (int c = 0; c < columns; ++c) {
        GRADUAL_IVDEP
        for (int r = 0; r < rows; ++r) copy(begin_row(r), c, r * columns + c);
      }
    } else {
      for (int r = 0; r < rows; ++r) copy(begin_row(r), 0, columns, r * columns);
    }
    Operands operands{*this};
    compute(begin_row(0), 0, rows * columns, operands);
    Body::template for_slots<is_row_reduced>([&](auto s) __attribute__((always_inline)) {
      Short::template reduce<s()>(values<s(), Operand<s()>>(), rows, static_cast<Element<s()>*>(memory.out(s())) + first);
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
  GRADUAL_INLINE void run_lanes(const Row& row, Sink& sink) {
    constexpr int left = static_cast<int>(Body::columns % columns);
    for (std::int64_t c = 0; c < Body::columns - left; c += columns) run_lanes(row, c, columns, sink);
    if constexpr (left > 0) run_lanes(row, Body::columns - left, left, sink);
  }

 private:
  static constexpr bool is_copied(const Slot& slot) { return gradual::is_copied(slot, staging); }
  static constexpr bool has_values(const Slot& slot) {
    return is_copied(slot) || (staging == Staging::rows && (is_row_reduced(slot) || is_batch_reduced(slot)));
  }
  /// The place of a slot among those with values.
  static constexpr int place(int s) {
    int place = 0;
    for (int i = 0; i < s; ++i) place += has_values(Body::plan.slots[i]);
    return place;
  }
  /// Copies, and operands of reductions. The largest types have eight bytes.
  alignas(64) std::byte values_[place(Body::slots) + 1][(staging == Staging::rows ? together : 1) * columns * 8];

  template <int S, class E = Element<S>>
  GRADUAL_INLINE E* values() {
    return reinterpret_cast<E*>(values_[place(S)]);
  }

  /// Copies column c of a row to place `at`.
  GRADUAL_INLINE void copy(const Row& row, std::int64_t c, int at) {
    typename Body::Values v;
    Body::given_element(row, v, c);
    Body::template for_slots<is_copied>([&](auto s) __attribute__((always_inline)) {
      const typename Body::Values& of = slot<s()>.uniform ? row.uniform : v;
      values<s()>()[at] = static_cast<Element<s()>>(of.template of<typename Body::template T<s()>>()[s()]);
    });
  }
  /// Copies `count` columns from `from` on to places from `at` on.
  GRADUAL_INLINE void copy(const Row& row, std::int64_t from, int count, int at) {
    GRADUAL_IVDEP
    for (int i = 0; i < count; ++i) copy(row, from + i, at + i);
  }

  template <class Sink>
  GRADUAL_INLINE void run_lanes(const Row& row, std::int64_t from, int count, Sink& sink) {
    copy(row, from, count, 0);
    Lanes<Sink> lanes{sink, from};
    compute(row, from, count, lanes);
  }

  /// Computes `count` elements from the copies; the row's memory that is not copied is that from column `from` on.
  template <class Sink>
  GRADUAL_INLINE void compute(Row row, std::int64_t from, int count, Sink& sink) {
    Body::template for_slots<begins_with_row>([&](auto s) __attribute__((always_inline)) {
      if constexpr (is_copied(slot<s()>)) row.in[s()] = values<s()>();
      else if constexpr (slot<s()>.source == Source::load) row.in[s()] = static_cast<const Element<s()>*>(row.in[s()]) + from;
      if constexpr (slot<s()>.stored && !is_row_reduced(slot<s()>))
        row.out[s()] = static_cast<Element<s()>*>(row.out[s()]) + from;
    });
    GRADUAL_IVDEP
    GRADUAL_KEEP_LOOP
    for (int i = 0; i < count; ++i) LoopBody<P, G, staging>::element(row, sink, i);
  }

  /// Where operands of reductions of several rows wait until all are computed.
  struct Operands {
    StagedRows& rows;
    template <int S, class X>
    GRADUAL_INLINE void reduce(X x, std::int64_t i) {
      rows.template values<S, X>()[i] = x;
    }
  };
  /// Lanes of one row, from a multiple of 32 columns on.
  template <class Sink>
  struct Lanes {
    Sink& sink;
    std::int64_t from;
    template <int S, class X>
    GRADUAL_INLINE void reduce(X x, std::int64_t i) {
      using Lane = typename Body::template Lane<S>;
      const int lane = static_cast<int>(i);
      sink.template put<S>(lane, Lane::join(sink.template get<S>(lane), Lane::of(x, from + i)));
    }
  };
};

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
