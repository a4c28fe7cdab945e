#pragma once
#include <tuple>
#include <utility>

#include <gradual/autodiff/loop_row.hpp>
#include <gradual/autodiff/randomness.hpp>
#include <gradual/autodiff/row_lane.hpp>
#include <gradual/autodiff/shadow.hpp>
#include <gradual/autodiff/shared_loops.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

namespace detail {
template <class... Op>
std::tuple<Op...> as_tuple(OpList<Op...>);
}  // namespace detail

/// A slot's number, as a constant that device code can use too.
template <int S>
struct SlotIndex {
  GRADUAL_HD constexpr int operator()() const { return S; }
};

/// The computation of group G of program P for one element, on every backend: members in registers, one after another. How
/// elements are distributed, and where reductions go, is up to the backend.
template <class P, int G, Staging How = Staging::none>
struct LoopBody {
  static constexpr auto plan = loop_plan<P, G>.staged(How);
  static constexpr Group group = P::template group<G>;
  static constexpr int slots = plan.count;
  static constexpr Shape domain = plan.domain;
  static constexpr int rank = domain.rank, row_axes = plan.row_axes;
  static constexpr bool batched = domain.batched();
  static constexpr std::int64_t columns = plan.columns;
  static constexpr std::int64_t elements = domain.unit();           ///< for each sample, or in all
  static constexpr std::int64_t rows = domain.product(0, row_axes);  ///< for each sample, or in all

  using Shadow = typename detail::ShadowIn<P>::type;  ///< of closed blocks of floats
  template <int S>
  static constexpr Slot slot = plan.slots[S];

 private:
  using OpTuple = decltype(detail::as_tuple(typename P::Ops{}));
  /// Types that are used so often that they are looked up once.
  template <int S>
  struct TypesOf {
    using Element = ElementOf<slot<S>.dtype>;
    using T = Computed<Element>;
    using Op = std::tuple_element_t<static_cast<std::size_t>(slot<S>.op < 0 ? 0 : slot<S>.op), OpTuple>;
  };
  template <int S>
  struct ReductionTypesOf {
    using Operand = typename TypesOf<slot<S>.in[0]>::T;
    using Total = AccumulatorOf<P, slot<S>.node, Operand>;
    using Lane = RowLane<typename TypesOf<S>::Op, Operand>;
  };

 public:
  template <int S>
  using Element = typename TypesOf<S>::Element;  ///< in memory
  template <int S>
  using T = typename TypesOf<S>::T;
  template <int S>
  using Operand = typename ReductionTypesOf<S>::Operand;  ///< of a reduction
  template <int S>
  using Total = typename ReductionTypesOf<S>::Total;  ///< of closed blocks of a reduction over the batch
  template <int S>
  using Op = typename TypesOf<S>::Op;

  /// Whether slot S reads memory (that of node `slot.memory`), and whether it writes it (that of node `slot.node`).
  static constexpr bool reads(int s) {
    const Source source = plan.slots[s].source;
    return source == Source::load || source == Source::view || source == Source::pad || source == Source::piece;
  }
  static constexpr bool writes(int s) {
    const Source source = plan.slots[s].source;
    return plan.slots[s].stored || source == Source::row_reduce || source == Source::batch_reduce;
  }

  // Facts about the plan for device code are variables: it can read constants, but not call constexpr functions of the host.
  template <int S>
  static constexpr bool is_argmax = slot<S>.source == Source::row_reduce && std::is_same_v<Op<S>, ArgMax>;

  template <int S>
  using Lane = typename ReductionTypesOf<S>::Lane;

  using Values = LoopValues<slots>;
  using Row = LoopRow<slots>;
  struct NoSink {};  ///< of elements that are not reduced

 private:
  template <bool (*Those)(const Slot&)>
  static constexpr auto chosen = plan.those(Those);
  // In chunks: clang's limit on nested folds is 256.
  static constexpr int most = 64;
  template <bool (*Those)(const Slot&), int First>
  static constexpr bool more_after = chosen<Those>.count > First + most;
  template <bool (*Those)(const Slot&), int First>
  static constexpr int chunk = more_after<Those, First> ? most : chosen<Those>.count - First;

 public:
  /// Calls f(constant s) for each of those slots.
  GRADUAL_EITHER_SIDE
  template <bool (*Those)(const Slot&), int First = 0, class F>
  GRADUAL_HD GRADUAL_INLINE static void for_slots(F&& f) {
    each<Those, First>(f, std::make_integer_sequence<int, chunk<Those, First>>{});
    if constexpr (more_after<Those, First>) for_slots<Those, First + most>(f);
  }

  /// Begins row r. `memory.in<E>(s)` and `memory.out(s)` return the start of the memory that slot s reads and writes; for a
  /// view, its first element.
  GRADUAL_EITHER_SIDE
  template <class Memory>
  GRADUAL_HD GRADUAL_INLINE static void start_row(const Memory& memory, const Randomness& random, Row& row, std::int64_t r) {
    start_from<0>(memory, random, row, r, std::make_integer_sequence<int, chunk<begins_with_row, 0>>{});
  }

  /// Computes every slot for column c; `sink.reduce<S>(operand, c)` takes the operands of reductions. The row's memory that is
  /// loaded, viewed, joined and stored begins at column From.
  GRADUAL_EITHER_SIDE
  template <bool Stores = true, std::int64_t From = 0, class Sink>
  GRADUAL_HD GRADUAL_INLINE static void element(const Row& row, Sink& sink, std::int64_t c) {
    Values v;
    compute_from<is_of_element, 0, Stores, true, From>(row, v, sink, c,
                                                       std::make_integer_sequence<int, chunk<is_of_element, 0>>{});
  }
  /// The same in two steps, so that the reads of several elements are issued before any of them is written. `Those`: what is
  /// read or drawn; `finish_element` expects the default.
  GRADUAL_EITHER_SIDE
  template <bool (*Those)(const Slot&) = is_read_with_element>
  GRADUAL_HD GRADUAL_INLINE static void read_element(const Row& row, Values& v, std::int64_t c) {
    NoSink none;
    compute_from<Those, 0, false, true, 0>(row, v, none, c, std::make_integer_sequence<int, chunk<Those, 0>>{});
  }
  GRADUAL_EITHER_SIDE
  template <bool Stores = true, class Sink>
  GRADUAL_HD GRADUAL_INLINE static void finish_element(const Row& row, Values& v, Sink& sink, std::int64_t c) {
    compute_from<is_of_element, 0, Stores, false, 0>(row, v, sink, c,
                                                     std::make_integer_sequence<int, chunk<is_of_element, 0>>{});
  }
  /// The number of slots that `read_element` reads.
  static constexpr int reads_of_element = chosen<is_read_with_element>.count;

 private:
  GRADUAL_EITHER_SIDE
  template <bool (*Those)(const Slot&), int First, class F, int... I>
  GRADUAL_HD GRADUAL_INLINE static void each(F& f, std::integer_sequence<int, I...>) {
    (f(SlotIndex<chosen<Those>.slot[First + I]>{}), ...);
  }
  // The same, written out for the functions that are called for most slots: this saves a function per slot that calls them.
  GRADUAL_EITHER_SIDE
  template <int First, class Memory, int... I>
  GRADUAL_HD GRADUAL_INLINE static void start_from(const Memory& memory, const Randomness& random, Row& row, std::int64_t r,
                                                   std::integer_sequence<int, I...>) {
    (start_slot<chosen<begins_with_row>.slot[First + I]>(memory, random, row, r), ...);
    if constexpr (more_after<begins_with_row, First>)
      start_from<First + most>(memory, random, row, r, std::make_integer_sequence<int, chunk<begins_with_row, First + most>>{});
  }
  GRADUAL_EITHER_SIDE
  template <bool (*Those)(const Slot&), int First, bool Stores, bool Reads, std::int64_t From, class Sink, int... I>
  GRADUAL_HD GRADUAL_INLINE static void compute_from(const Row& row, Values& v, Sink& sink, std::int64_t c,
                                                     std::integer_sequence<int, I...>) {
    (compute<chosen<Those>.slot[First + I], Stores, Reads, From>(row, v, sink, c), ...);
    if constexpr (more_after<Those, First>)
      compute_from<Those, First + most, Stores, Reads, From>(row, v, sink, c,
                                                             std::make_integer_sequence<int, chunk<Those, First + most>>{});
  }

  /// Returns the number that pads view S, hidden from the compiler in a loop over columns: values computed from a known number
  /// become a branch, which does not vectorise. Short rows begin inside loops over rows, where it is not hidden.
  template <int S>
  GRADUAL_HD GRADUAL_INLINE static T<S> padding() {
    T<S> number = rounded_to<Element<S>>(slot<S>.number);
#ifndef __CUDA_ARCH__
    if constexpr (columns > canonical_lanes / 2) asm("" : "+m"(number));
#endif
    return number;
  }

  GRADUAL_EITHER_SIDE
  template <int S, class Memory>
  GRADUAL_HD GRADUAL_INLINE static void start_slot(const Memory& memory, const Randomness& random, Row& row, std::int64_t r) {
    constexpr std::int64_t width = columns < 0 ? 0 : columns;
    if constexpr (slot<S>.source == Source::load) {
      row.in[S] = memory.template in<Element<S>>(S) + r * width;
    } else if constexpr (slot<S>.source == Source::view) {
      row.in[S] = memory.template in<Element<S>>(S) + view_offset<S, 0, row_axes>(r);
    } else if constexpr (slot<S>.source == Source::pad) {
      row.in[S] = memory.template in<Element<S>>(S);
      row.inside[S] = inside<S, 0, row_axes>(r);
      row.offset[S] = slot<S>.offset + view_offset<S, 0, row_axes>(r);
      if constexpr (padded_whole<S>) row.offset[S] = row.inside[S] ? row.offset[S] : 0;
      else row.uniform.template of<T<S>>()[S] = padding<S>();
    } else if constexpr (slot<S>.source == Source::join) {
      start_join<S>(memory, row, r);
    } else if constexpr (slot<S>.source == Source::iota) {
      row.offset[S] = view_offset<S, 0, row_axes>(r);
    } else if constexpr (slot<S>.source == Source::random) {
      row.key[S] = random.key(slot<S>.which, batched, r / rows);
      row.offset[S] = r % rows * width;
      row.inside[S] = random.on;
      if constexpr (slot<S>.draws == Draws::mask) row.mask[S] = DropoutMask::Draw<double>::of(slot<S>.number, random.on);
    }
    if constexpr (slot<S>.source == Source::row_reduce) row.out[S] = static_cast<Element<S>*>(memory.out(S)) + r;
    else if constexpr (slot<S>.stored && slot<S>.source != Source::batch_reduce)
      row.out[S] = static_cast<Element<S>*>(memory.out(S)) + r * width;
    if constexpr (slot<S>.uniform) {
      NoSink none;
      compute<S, false, true, 0>(row, row.uniform, none, 0);
    }
  }

  /// Whether pieces fill all of the axis along which they are joined.
  template <int S>
  static constexpr bool whole_join = slot<S>.first == 0 && slot<S>.last == domain.extent[slot<S>.axis];

  /// Begins row r of join S, which is a row of a piece, or padding.
  GRADUAL_EITHER_SIDE
  template <int S, class Memory>
  GRADUAL_HD GRADUAL_INLINE static void start_join(const Memory& memory, Row& row, std::int64_t r) {
    constexpr std::int64_t inner = place<S, row_axes>, extent = domain.extent[slot<S>.axis];
    const std::int64_t at = slot<S>.axis > 0 ? r / inner % extent : r / inner;
    row.inside[S] = (at >= slot<S>.first) & (at < slot<S>.last);
    const std::int64_t read_at = row.inside[S] ? at : slot<S>.first;  // padding reads a row too, and discards it
    row.uniform.template of<T<S>>()[S] = padding<S>();
    start_piece<S, slot<S>.in[0], slot<S>.in[1]>(memory, row, read_at, r / inner / extent, r % inner);
  }
  /// Begins row `r` at place `at` of the joined axis and index `outer` of the axes before it, in one of the `Count` pieces from
  /// First on.
  GRADUAL_EITHER_SIDE
  template <int S, int First, int Count, class Memory>
  GRADUAL_HD GRADUAL_INLINE static void start_piece(const Memory& memory, Row& row, std::int64_t at, std::int64_t outer,
                                                    std::int64_t r) {
    if constexpr (Count > 1) {
      constexpr int half = Count / 2;
      if (at < slot<First + half>.first) start_piece<S, First, half>(memory, row, at, outer, r);
      else start_piece<S, First + half, Count - half>(memory, row, at, outer, r);
    } else {
      constexpr std::int64_t first = slot<First>.first, extent = slot<First>.last - first, inner = place<S, row_axes>;
      const std::int64_t row_of_piece = (outer * extent + at - first) * inner + r;
      row.in[S] = memory.template in<Element<S>>(First) + row_of_piece * columns;
    }
  }

  /// Whether a view has one stride over its columns, and that stride, usually 0 or 1.
  template <int S>
  static constexpr bool linear = plan.linear(S, row_axes);
  template <int S>
  static constexpr std::int64_t column_stride = columns > 1 ? slot<S>.stride[rank > 0 ? rank - 1 : 0] : 0;

  /// Returns the offset of a view at flat index `at` over the axes [First, Last) of the domain.
  template <int S, int First, int Last>
  GRADUAL_HD GRADUAL_INLINE static std::int64_t view_offset(std::int64_t at) {
    if constexpr (Last <= First || elements == 0) {
      return 0;
    } else {
      constexpr std::int64_t stride = slot<S>.stride[Last - 1], extent = domain.extent[Last - 1];
      if constexpr (Last == First + 1) return at * stride;
      else return at % extent * stride + view_offset<S, First, Last - 1>(at / extent);
    }
  }

  /// Whether each row of padded view S is all elements or all padding. A row of padding reads the beginning of the memory, and
  /// discards it.
  template <int S>
  static constexpr bool padded_whole = slot<S>.axis < row_axes && slot<S>.first < slot<S>.last;

  /// Number of elements in one place along the axis of padded view or join S, over the axes up to Last of the domain.
  template <int S, int Last>
  static constexpr std::int64_t place = domain.product(slot<S>.axis + 1, Last);

  /// Whether padded view S has an element at flat index `at` over the axes [First, Last) of the domain.
  template <int S, int First, int Last>
  GRADUAL_HD GRADUAL_INLINE static bool inside(std::int64_t at) {
    if constexpr (slot<S>.axis < First || slot<S>.axis >= Last) {
      return true;
    } else {
      // Columns use 32 bits where these suffice: a vector holds more of them.
      using Index = std::conditional_t<First == row_axes && columns <= 0x7fffffff, std::uint32_t, std::uint64_t>;
      constexpr Index first = slot<S>.first * place<S, Last>, last = slot<S>.last * place<S, Last>,
                      all = domain.extent[slot<S>.axis] * place<S, Last>;
      Index index = static_cast<Index>(at);
      if constexpr (slot<S>.axis > First) index %= all;
      return index - first < last - first;
    }
  }

  template <class E>
  GRADUAL_HD GRADUAL_INLINE static Computed<E> read(const void* in, std::int64_t at) {
    return static_cast<Computed<E>>(static_cast<const E*>(in)[at]);
  }

  /// Returns the value of slot s, of type X, as an operand.
  template <class X, bool Uniform>
  GRADUAL_HD GRADUAL_INLINE static X operand(const Row& row, const Values& v, int s) {
    if constexpr (Uniform) return row.uniform.template of<X>()[s];
    else return v.template of<X>()[s];
  }

  /// Evaluates slot S for column c: reads or computes its value, and stores or reduces it. Without `Reads`, the value has been
  /// read before. One function for each slot, of which programs have thousands.
  GRADUAL_EITHER_SIDE
  template <int S, bool Stores, bool Reads, std::int64_t From, class Sink>
  GRADUAL_HD GRADUAL_INLINE static void compute(const Row& row, Values& v, Sink& sink, std::int64_t c) {
    constexpr bool reduces = is_reduced(slot<S>);
    [[maybe_unused]] T<S>& value = v.template of<T<S>>()[S];
    if constexpr (reduces) {
      constexpr int x = slot<S>.in[0];
      sink.template reduce<S>(operand<T<x>, slot<x>.uniform>(row, v, x), c);
    } else if constexpr (is_read_with_element(slot<S>) && !Reads) {
      // has been read
    } else if constexpr (slot<S>.source == Source::load) {
      value = read<Element<S>>(row.in[S], c - From);
    } else if constexpr (slot<S>.source == Source::view) {
      if constexpr (linear<S>) value = read<Element<S>>(row.in[S], (c - From) * column_stride<S>);
      else value = read<Element<S>>(row.in[S], view_offset<S, row_axes, rank>(c));
    } else if constexpr (slot<S>.source == Source::pad) {
      std::int64_t at = row.offset[S];
      if constexpr (linear<S>) at += c * column_stride<S>;
      else at += view_offset<S, row_axes, rank>(c);
      if constexpr (padded_whole<S>) {
        value = math::select(row.inside[S], read<Element<S>>(row.in[S], at), rounded_to<Element<S>>(slot<S>.number));
      } else {
        const bool has = row.inside[S] & inside<S, row_axes, rank>(c);
        value = has ? read<Element<S>>(row.in[S], at) : row.uniform.template of<T<S>>()[S];
      }
    } else if constexpr (slot<S>.source == Source::join) {
      // Adds the number that the other pieces are padded with: x + 0 is never −0.
      const T<S> joined = read<Element<S>>(row.in[S], c - From) + static_cast<T<S>>(slot<S>.number);
      value = whole_join<S> ? joined : math::select(row.inside[S], joined, row.uniform.template of<T<S>>()[S]);
    } else if constexpr (slot<S>.source == Source::iota) {
      if constexpr (linear<S>) value = static_cast<std::int32_t>(row.offset[S] + c * column_stride<S>);
      else value = static_cast<std::int32_t>(row.offset[S] + view_offset<S, row_axes, rank>(c));
    } else if constexpr (slot<S>.source == Source::random) {
      const auto element = static_cast<std::uint32_t>(row.offset[S] + c);
      if constexpr (slot<S>.draws == Draws::normal)
        value = rounded_to<Element<S>>(NormalNoise::Draw<T<S>>{row.inside[S]}(row.key[S], element));
      else if constexpr (slot<S>.draws == Draws::uniform)
        value = rounded_to<Element<S>>(UniformNoise::Draw<T<S>>{row.inside[S]}(row.key[S], element));
      else
        value = DropoutMask::Draw<T<S>>{row.mask[S].threshold, rounded_to<Element<S>>(row.mask[S].scale)}(row.key[S], element);
    } else if constexpr (slot<S>.source == Source::constant) {
      value = rounded_to<Element<S>>(slot<S>.number);
    } else {
      constexpr int x = slot<S>.in[0], y = slot<S>.in[1], z = slot<S>.in[2];
      const auto a = operand<T<x>, slot<x>.uniform>(row, v, x);
      if constexpr (Op<S>::arity == 1) {
        value = rounded_to<Element<S>>(Op<S>::apply(a));
      } else {
        const auto b = operand<T<y>, slot<y>.uniform>(row, v, y);
        if constexpr (Op<S>::arity == 2) value = rounded_to<Element<S>>(Op<S>::apply(a, b));
        else value = rounded_to<Element<S>>(Op<S>::apply(static_cast<T<S>>(a), b, operand<T<z>, slot<z>.uniform>(row, v, z)));
      }
    }
    if constexpr (slot<S>.stored && Stores && !reduces)
      static_cast<Element<S>*>(row.out[S])[c - From] = static_cast<Element<S>>(value);
  }
};

}  // namespace gradual
