#pragma once
#include <algorithm>

#include <gradual/autodiff/cpu/narrow_rows.hpp>
#include <gradual/autodiff/cpu/row_end.hpp>
#include <gradual/autodiff/cpu/staged_rows.hpp>
#include <gradual/core/block_pieces.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// The addresses of the values of a loop with so many slots.
template <int Slots>
struct LoopMemory {
  void* const* address;
  const LoopPlaces<Slots>& places;

  template <class E>
  GRADUAL_INLINE const E* in(int s) const {
    return static_cast<const E*>(address[places.memory[s]]) + places.begin[s];
  }
  GRADUAL_INLINE void* out(int s) const { return address[places.node[s]]; }
};

/// The kernel of a loop that is compiled: computes group G of program P row by row, with its reductions; or, if `Shared`, any
/// group with the same code whose values lie elsewhere.
template <class P, int G, bool Shared>
class LoopKernel {
  using Body = LoopBody<P, G>;
  using Row = typename Body::Row;
  using Narrow = NarrowRows<P, G>;
  using End = RowEnd<P, G>;
  using Staged = StagedRows<P, G>;
  static constexpr int slots = Body::slots;
  template <int S>
  using Lane = typename Body::template Lane<S>;
  template <int S>
  using Chain = typename Body::template Operand<S>;  ///< over the batch

  /// Returns where the values of slots lie: constants, except in a shared kernel.
  GRADUAL_INLINE static const LoopPlaces<slots>& places(const StepArguments& a) {
    if constexpr (Shared) return *static_cast<const LoopPlaces<slots>*>(a.loop);
    else return loop_places<P, G>;
  }

  GRADUAL_INLINE static LoopMemory<slots> memory(const StepArguments& a) { return {a.address, places(a)}; }

  /// Whether threads share a sum over samples, by its columns.
  static constexpr bool divisible = loop_forms<P>[G].divisible();

  /// Chains over the batch with few columns stay in registers from row to row.
  static constexpr bool short_chains = Body::group.batch_reduces && Body::columns <= 32;

  /// The targets of reductions: the lanes of the current row, and chains over the batch.
  struct Sink {
    static constexpr auto columns = static_cast<std::size_t>(short_chains ? Body::columns : 1);
    static constexpr std::size_t kept = short_chains ? slots : 1;
    float f32[slots][canonical_lanes];
    double f64[slots][canonical_lanes];
    std::int32_t index[slots][canonical_lanes];  ///< of the largest, besides its value
    float chain_f32[kept][columns];
    double chain_f64[kept][columns];
    void* chain[slots];

    template <int S>
    GRADUAL_INLINE auto* values() {
      if constexpr (std::is_same_v<typename Body::template Operand<S>, float>) return f32[S];
      else return f64[S];
    }
    template <int S>
    GRADUAL_INLINE typename Lane<S>::type get(int lane) {
      if constexpr (Body::template is_argmax<S>) return {values<S>()[lane], index[S][lane]};
      else return values<S>()[lane];
    }
    template <int S>
    GRADUAL_INLINE void put(int lane, typename Lane<S>::type x) {
      if constexpr (Body::template is_argmax<S>) values<S>()[lane] = x.value, index[S][lane] = x.index;
      else values<S>()[lane] = x;
    }
    template <int S>
    GRADUAL_INLINE Chain<S>* short_chain() {
      if constexpr (std::is_same_v<Chain<S>, double>) return chain_f64[S];
      else return chain_f32[S];
    }
  };

  /// The target of one element's reductions. Each element has its own: one that stayed in memory would keep loops from being
  /// vectorised.
  struct Place {
    Sink& sink;
    int lane;

    template <int S, class X>
    GRADUAL_INLINE void reduce(X x, std::int64_t c) {
      if constexpr (is_batch_reduced(Body::template slot<S>)) {
        if constexpr (short_chains) sink.template short_chain<S>()[c] += x;
        else static_cast<Chain<S>*>(sink.chain[S])[c] += x;
      } else {
        sink.template put<S>(lane, Lane<S>::join(sink.template get<S>(lane), Lane<S>::of(x, c)));
      }
    }
  };
  GRADUAL_INLINE static void element(const Row& row, Sink& sink, int lane, std::int64_t c) {
    Place place{sink, lane};
    Body::element(row, place, c);
  }

  template <int S>
  GRADUAL_INLINE static void start_reduction(Sink& sink) {
    for (int l = 0; l < used_lanes; ++l) sink.template put<S>(l, Lane<S>::identity());
#ifdef __clang__  // which would read a first lane that it knows before the loop, and lose on the way that vectors may be made
    asm("" : "+m"(sink));
#endif
  }

  /// Lanes beyond the row hold the identity; joining them would change nothing, so they are skipped.
  static constexpr int used_lanes =
      Body::columns > 0 && Body::columns < canonical_lanes ? static_cast<int>(Body::columns) : canonical_lanes;

  /// Each level is a loop of its own; unrolled, it would be joined lane by lane instead of in vectors.
  template <int S>
  GRADUAL_INLINE static void join_halves(Sink& sink, int half) {
    const int pairs = used_lanes - half < half ? used_lanes - half : half;
    GRADUAL_IVDEP
    GRADUAL_KEEP_LOOP
    for (int l = 0; l < pairs; ++l)
      sink.template put<S>(l, Lane<S>::join(sink.template get<S>(l), sink.template get<S>(l + half)));
  }
  template <int S>
  GRADUAL_INLINE static void finish_reduction(const Row& row, Sink& sink) {
    static_assert(canonical_lanes == 32);
    join_halves<S>(sink, 16);
    join_halves<S>(sink, 8);
    join_halves<S>(sink, 4);
    join_halves<S>(sink, 2);
    join_halves<S>(sink, 1);
    using Element = typename Body::template Element<S>;
    *static_cast<Element*>(row.out[S]) = static_cast<Element>(Lane<S>::result(sink.template get<S>(0)));
  }

  template <int S>
  GRADUAL_INLINE static void start_chain(const StepArguments& a, Sink& sink, End& end) {
    auto* memory = static_cast<Chain<S>*>(a.open[places(a).node[S]]);
    if constexpr (End::apply) end.template start_chain<S>(memory);
    if constexpr (short_chains)
      for (std::size_t c = 0; c < Sink::columns; ++c) sink.template short_chain<S>()[c] = memory[c];
    else
      sink.chain[S] = memory;
  }
  template <int S>
  GRADUAL_INLINE static void keep_chain(const StepArguments& a, Sink& sink, End& end) {
    auto* memory = static_cast<Chain<S>*>(a.open[places(a).node[S]]);
    if constexpr (End::apply) end.template keep_chain<S>(memory);
    if constexpr (short_chains) {
      for (std::size_t c = 0; c < Sink::columns; ++c) memory[c] = sink.template short_chain<S>()[c];
    }
  }

  static constexpr auto pieces = Body::plan.pieces();

  template <int Piece = 0>
  GRADUAL_INLINE static void run_columns(const Row& row, Sink& sink, Part::Range columns) {
    constexpr std::int64_t first = pieces.begin[Piece], last = pieces.begin[Piece + 1];
    const std::int64_t begin = pieces.count > 1 && columns.begin < first ? first : columns.begin;
    const std::int64_t end = pieces.count > 1 && columns.end > last ? last : columns.end;
    GRADUAL_IVDEP
    GRADUAL_KEEP_LOOP  // else the loop would check repeatedly whether values replaced in place overlap others
    for (std::int64_t c = begin; c < end; ++c) {
#ifdef __clang__  // which else asks at each element whether padded views have it
      if constexpr (pieces.count > 1) __builtin_assume(c >= first && c < last);
#endif
      element(row, sink, 0, c);
    }
    if constexpr (Piece + 1 < pieces.count) run_columns<Piece + 1>(row, sink, columns);
  }

  GRADUAL_INLINE static void run_lanes(Row& row, Sink& sink, End& end) {
    constexpr std::int64_t whole = End::apply ? End::begin : Body::columns;
    constexpr int left = static_cast<int>(whole % canonical_lanes);
    if constexpr (whole > left) {
      for (std::int64_t c = 0; c < whole - left; c += canonical_lanes) {
        GRADUAL_IVDEP
        for (int l = 0; l < canonical_lanes; ++l) element(row, sink, l, c + l);
      }
    }
    if constexpr (left > 0) {
      GRADUAL_IVDEP
      GRADUAL_KEEP_LOOP  // else they would be computed one by one
      for (int l = 0; l < left; ++l) element(row, sink, l, whole - left + l);
    }
    if constexpr (End::apply) end.run(row, sink);
  }

  GRADUAL_INLINE static void run_rows(const StepArguments& a, std::int64_t from, std::int64_t to,
                                      Part::Range columns) {
    Sink sink;
    End end;
    const LoopMemory<slots> memory = LoopKernel::memory(a);
    if constexpr (Body::group.batch_reduces) {
      Body::template for_slots<is_batch_reduced>(
          [&](auto s) __attribute__((always_inline)) { start_chain<s()>(a, sink, end); });
    }
    std::int64_t r = from;
    [[maybe_unused]] Staged staged;
    if constexpr (Staged::staging == Staging::rows) {
      Place place{sink, 0};
      constexpr int most = Staged::together, least = Staged::takes_fewer ? 1 : most;
      for (; to - r >= least; r += most) {
        const int rows = least < most && to - r < most ? static_cast<int>(to - r) : most;
        staged.run_rows(memory, a.random, r, rows, place);
      }
    }
    if constexpr (Staged::staging != Staging::rows || !Staged::takes_fewer) {
      Row row;
      for (; r < to; ++r) {
        Body::start_row(memory, a.random, row, r);
        if constexpr (Body::group.row_reduces)
          Body::template for_slots<is_row_reduced>([&](auto s) __attribute__((always_inline)) { start_reduction<s()>(sink); });
        if constexpr (Staged::staging == Staging::row) staged.run_row(row, sink);
        else if constexpr (Body::group.row_reduces) run_lanes(row, sink, end);
        else run_columns(row, sink, columns);
        if constexpr (Body::group.row_reduces)
          Body::template for_slots<is_row_reduced>(
              [&](auto s) __attribute__((always_inline)) { finish_reduction<s()>(row, sink); });
      }
    }
    if constexpr (Body::group.batch_reduces) {
      Body::template for_slots<is_batch_reduced>(
          [&](auto s) __attribute__((always_inline)) { keep_chain<s()>(a, sink, end); });
    }
  }
  static constexpr Part::Range whole_row() { return {0, Body::columns}; }

  /// One number is computed without a loop, which would get a vector version too.
  static constexpr bool one_number = !Body::batched && Body::elements == 1;

  static void run_flat(const StepArguments& a, std::int64_t first, std::int64_t last) {
    Row row;
    Sink sink;
    Body::start_row(memory(a), a.random, row, 0);
    GRADUAL_IVDEP
    for (std::int64_t c = first; c < last; ++c) element(row, sink, 0, c);
  }

  /// What happens to every sum over samples of the group: its total, or its chain over a block, begins at +0, or the chain is
  /// added to the total.
  enum class SumStep { begin_total, begin_block, close_block };
  static void for_sums(const StepArguments& a, Part::Range columns, SumStep step) {
    Body::template for_slots<is_batch_reduced>([&](auto s) {
      const int node = places(a).node[s()];
      using Total = typename Body::template Total<s()>;
      auto* total = static_cast<Total*>(a.address[node]);
      auto* chain = static_cast<Chain<s()>*>(a.open[node]);
      if (step == SumStep::begin_total) std::fill(total + columns.begin, total + columns.end, Total{});
      if (step == SumStep::begin_block) std::fill(chain + columns.begin, chain + columns.end, Chain<s()>{});
      if (step != SumStep::close_block) return;
      GRADUAL_IVDEP
      GRADUAL_KEEP_LOOP  // else 16 columns would be added one by one
      for (std::int64_t c = columns.begin; c < columns.end; ++c) total[c] += chain[c];
    });
  }

 public:
  /// Flattened, since a call of an op keeps its loop from being vectorised.
  [[gnu::flatten]] GRADUAL_KERNEL_CODE static void run(const StepArguments& a) {
    const std::int64_t batch = Body::batched ? a.batch : 1;
    if constexpr (Body::columns < 0) {
      const auto [first, last] = a.part.of(Body::elements * batch, 64);
      if constexpr (one_number) {
        if (first < last) run_flat(a, 0, 1);
      } else {
        run_flat(a, first, last);
      }
    } else if constexpr (!Body::group.batch_reduces) {
      const auto [first, last] = a.part.of(Body::rows * batch);
      if constexpr (Narrow::apply) Narrow::run(a, memory(a), first, last);
      else run_rows(a, first, last, whole_row());
    } else {
      constexpr std::int64_t positions = Body::rows;
      const std::int64_t begin = a.begin * positions, end = begin + positions * batch;
      const Part::Range columns = divisible ? a.part.of(Body::columns, 16) : whole_row();
      if (a.first) for_sums(a, columns, SumStep::begin_total);
      for (const BlockPiece& piece : BlockPieces(begin, end, positions, a.last)) {
        if (piece.begins) for_sums(a, columns, SumStep::begin_block);
        run_rows(a, piece.begin - begin, piece.end - begin, columns);
        if (piece.closes) for_sums(a, columns, SumStep::close_block);
      }
    }
  }
};

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
