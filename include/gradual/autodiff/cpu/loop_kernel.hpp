#pragma once
#include <tuple>
#include <utility>

#include <gradual/autodiff/loop_plan.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/core/canonical.hpp>

namespace gradual::cpu {

template <class... Op>
std::tuple<Op...> as_tuple(OpList<Op...>);

template <DType D>
using Scalar = std::conditional_t<D == DType::f32, float, std::conditional_t<D == DType::f64, double, std::int32_t>>;

/// One lane of an argmax: the first largest value so far, NaN being the largest.
template <class T>
struct Best {
  T value;
  std::int32_t index;
};
template <class T>
constexpr Best<T> better(Best<T> a, Best<T> b) {
  const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
  const bool b_wins = nan_a == nan_b ? (b.value > a.value) | (((b.value == a.value) | nan_b) & (b.index < a.index)) : nan_b;
  return b_wins ? b : a;
}

/// The one loop kernel: computes group G of program P row by row, members in registers, with its reductions.
template <class P, int G>
class LoopKernel {
  static constexpr auto plan = plan_loop<P, G>();
  static constexpr Group group = P::schedule.groups[G];
  static constexpr int slots = plan.count;
  static constexpr int chunk = 64;  // clang's limit on nested folds is 256

  template <int S>
  using T = Scalar<plan.slots[S].dtype>;
  template <int I>
  using OpAt = std::tuple_element_t<static_cast<std::size_t>(I), decltype(as_tuple(typename P::Ops{}))>;

  /// Values of one element; every index is a constant, so this lives in registers.
  struct Values {
    float f32[slots];
    double f64[slots];
    std::int32_t i32[slots];
    template <int S>
    GRADUAL_INLINE auto& at() {
      if constexpr (plan.slots[S].dtype == DType::f32) return f32[S];
      else if constexpr (plan.slots[S].dtype == DType::f64) return f64[S];
      else return i32[S];
    }
    template <int S>
    GRADUAL_INLINE T<S> at() const {
      return const_cast<Values*>(this)->template at<S>();
    }
  };

  /// What belongs to the current row: pointers, and the values that all its columns share.
  struct Row {
    Values uniform;
    const void* in[slots];
    void* out[slots];
    std::int64_t offset[slots];
    std::uint64_t key[slots];
    std::uint32_t threshold[slots];
    double scale[slots];
  };
  struct Lanes {
    float f32[slots][canonical_lanes];
    double f64[slots][canonical_lanes];
    Best<float> best_f32[slots][canonical_lanes];
    Best<double> best_f64[slots][canonical_lanes];
  };

  template <int S>
  static constexpr bool is_argmax = std::is_same_v<OpAt<plan.slots[S].op>, ArgMax>;

  /// Stride of a view along the columns; 0 or 1 for most.
  static constexpr std::int64_t column_stride(int s) {
    return plan.columns > 1 ? plan.slots[s].stride[plan.domain.rank - 1] : 0;
  }
  /// Offset of a view where flat index `at` runs over the axes [first, last) of the domain.
  template <int S>
  GRADUAL_INLINE static std::int64_t view_offset(std::int64_t at, int first, int last) {
    std::int64_t offset = 0;
    for (int i = last - 1; i > first; --i) {
      offset += at % plan.domain.extent[i] * plan.slots[S].stride[i];
      at /= plan.domain.extent[i];
    }
    return last > first ? offset + at * plan.slots[S].stride[first] : offset;
  }

  template <int S>
  GRADUAL_INLINE static void start_row(const StepArguments& a, Row& row, std::int64_t r) {
    constexpr Slot slot = plan.slots[S];
    constexpr std::int64_t width = plan.columns < 0 ? 0 : plan.columns;
    if constexpr (slot.source == Source::load) {
      row.in[S] = static_cast<const T<S>*>(a.address[slot.memory]) + r * width;
    } else if constexpr (slot.source == Source::view) {
      row.in[S] = static_cast<const T<S>*>(a.address[slot.memory]) + view_offset<S>(r, 0, plan.row_axes);
    } else if constexpr (slot.source == Source::iota) {
      row.offset[S] = view_offset<S>(r, 0, plan.row_axes);
    } else if constexpr (slot.source == Source::random) {
      constexpr std::int64_t rows = plan.domain.product(0, plan.row_axes);  // of one sample
      row.key[S] = a.random.key(slot.which, r / rows);
      row.offset[S] = r % rows * width;
      row.threshold[S] = a.random.on ? DropoutMask::threshold(slot.number) : 0;
      row.scale[S] = a.random.on ? 1 / (1 - slot.number) : 1;
    }
    if constexpr (slot.source == Source::row_reduce) {
      row.out[S] = static_cast<T<S>*>(a.address[slot.node]) + r;
    } else if constexpr (slot.source == Source::batch_reduce) {
      row.out[S] = a.open[slot.node];
    } else if constexpr (slot.stored) {
      row.out[S] = static_cast<T<S>*>(a.address[slot.node]) + r * width;
    }
    if constexpr (slot.uniform) row.uniform.template at<S>() = value_of<S>(row, row.uniform, 0);
  }

  /// The value of slot S as an operand.
  template <int S>
  GRADUAL_INLINE static auto operand(const Row& row, const Values& v) {
    if constexpr (plan.slots[S].uniform) return row.uniform.template at<S>();
    else return v.template at<S>();
  }

  /// What slot S reads or computes for column c.
  template <int S>
  GRADUAL_INLINE static T<S> value_of(const Row& row, const Values& v, std::int64_t c) {
    constexpr Slot slot = plan.slots[S];
    if constexpr (slot.source == Source::load) {
      return static_cast<const T<S>*>(row.in[S])[c];
    } else if constexpr (slot.source == Source::view) {
      if constexpr (plan.linear(S, plan.row_axes)) return static_cast<const T<S>*>(row.in[S])[c * column_stride(S)];
      else return static_cast<const T<S>*>(row.in[S])[view_offset<S>(c, plan.row_axes, plan.domain.rank)];
    } else if constexpr (slot.source == Source::iota) {
      if constexpr (plan.linear(S, plan.row_axes)) return static_cast<std::int32_t>(row.offset[S] + c * column_stride(S));
      else return static_cast<std::int32_t>(row.offset[S] + view_offset<S>(c, plan.row_axes, plan.domain.rank));
    } else if constexpr (slot.source == Source::random) {
      return DropoutMask::apply(row.key[S], static_cast<std::uint32_t>(row.offset[S] + c), row.threshold[S],
                                static_cast<T<S>>(row.scale[S]));
    } else if constexpr (slot.source == Source::constant) {
      return static_cast<T<S>>(slot.number);
    } else {
      using Op = OpAt<slot.op>;
      if constexpr (Op::arity == 1) return static_cast<T<S>>(Op::apply(operand<slot.in[0]>(row, v)));
      else if constexpr (Op::arity == 2)
        return static_cast<T<S>>(Op::apply(operand<slot.in[0]>(row, v), operand<slot.in[1]>(row, v)));
      else
        return Op::apply(static_cast<T<S>>(operand<slot.in[0]>(row, v)), operand<slot.in[1]>(row, v),
                         operand<slot.in[2]>(row, v));
    }
  }

  /// Computes slot S for column c; `lane` is the reduction lane of c.
  template <int S>
  GRADUAL_INLINE static void compute(const Row& row, Values& v, Lanes& reduction, std::int64_t c, int lane) {
    constexpr Slot slot = plan.slots[S];
    if constexpr (slot.uniform) {
      return;
    } else if constexpr (slot.source == Source::batch_reduce) {
      static_cast<T<S>*>(row.out[S])[c] += operand<slot.in[0]>(row, v);
    } else if constexpr (slot.source == Source::row_reduce) {
      const auto x = operand<slot.in[0]>(row, v);
      if constexpr (is_argmax<S>) {
        auto& best = lane_of<S>(reduction)[lane];
        best = better(best, {x, static_cast<std::int32_t>(c)});
      } else {
        auto& sum = lane_of<S>(reduction)[lane];
        sum = OpAt<slot.op>::apply(sum, x);
      }
    } else {
      v.template at<S>() = value_of<S>(row, v, c);
      if constexpr (slot.stored) static_cast<T<S>*>(row.out[S])[c] = v.template at<S>();
    }
  }

  template <int S>
  GRADUAL_INLINE static auto* lane_of(Lanes& reduction) {
    constexpr DType operand = plan.slots[plan.slots[S].in[0]].dtype;
    if constexpr (is_argmax<S> && operand == DType::f32) return reduction.best_f32[S];
    else if constexpr (is_argmax<S>) return reduction.best_f64[S];
    else if constexpr (operand == DType::f32) return reduction.f32[S];
    else return reduction.f64[S];
  }

  template <int S>
  GRADUAL_INLINE static void start_reduction(Lanes& reduction) {
    if constexpr (plan.slots[S].source == Source::row_reduce) {
      auto* lane = lane_of<S>(reduction);
      using Lane = std::remove_pointer_t<decltype(lane)>;
      for (int l = 0; l < used_lanes; ++l) {
        if constexpr (is_argmax<S>) lane[l] = {-__builtin_huge_valf(), 0x7fffffff};
        else lane[l] = static_cast<Lane>(OpAt<plan.slots[S].op>::identity);
      }
    }
  }

  /// Lanes beyond the row hold the identity; joining them changes nothing, so they are left out.
  static constexpr int used_lanes =
      plan.columns > 0 && plan.columns < canonical_lanes ? static_cast<int>(plan.columns) : canonical_lanes;

  template <int S>
  GRADUAL_INLINE static void finish_reduction(const Row& row, Lanes& reduction) {
    if constexpr (plan.slots[S].source == Source::row_reduce) {
      auto* lane = lane_of<S>(reduction);
      for (int half = canonical_lanes / 2; half > 0; half /= 2)
        for (int l = 0; l < half && l + half < used_lanes; ++l) {
          if constexpr (is_argmax<S>) lane[l] = better(lane[l], lane[l + half]);
          else lane[l] = OpAt<plan.slots[S].op>::apply(lane[l], lane[l + half]);
        }
      if constexpr (is_argmax<S>) *static_cast<T<S>*>(row.out[S]) = lane[0].index;
      else *static_cast<T<S>*>(row.out[S]) = lane[0];
    }
  }

  /// Chains over the batch of few columns, which then stay in registers from row to row.
  static constexpr bool short_chains = group.batch_reduces && plan.columns <= 32;
  struct Chains {
    static constexpr std::size_t columns = short_chains ? plan.columns : 1, kept = short_chains ? slots : 1;
    float f32[kept][columns];
    double f64[kept][columns];
    template <int S>
    GRADUAL_INLINE auto* at() {
      if constexpr (plan.slots[S].dtype == DType::f64) return f64[S];
      else return f32[S];
    }
  };
  template <int S>
  GRADUAL_INLINE static void move_chain(const StepArguments& a, Chains& chains, bool in) {
    if constexpr (short_chains && plan.slots[S].source == Source::batch_reduce) {
      auto* memory = static_cast<T<S>*>(a.open[plan.slots[S].node]);
      for (std::size_t c = 0; c < Chains::columns; ++c)
        if (in) chains.template at<S>()[c] = memory[c];
        else memory[c] = chains.template at<S>()[c];
    }
  }

  /// Calls f(constant s) for every slot, in chunks.
  template <int First = 0, class F>
  GRADUAL_INLINE static void for_slots(F&& f) {
    constexpr int count = slots - First < chunk ? slots - First : chunk;
    [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
      (f(std::integral_constant<int, First + I>{}), ...);
    }(std::make_integer_sequence<int, count>{});
    if constexpr (First + count < slots) for_slots<First + count>(f);
  }

  GRADUAL_INLINE static void element(const Row& row, Lanes& reduction, std::int64_t c, int lane) {
    Values v;
    for_slots([&](auto s) __attribute__((always_inline)) { compute<s()>(row, v, reduction, c, lane); });
  }

  GRADUAL_INLINE static void run_rows(const StepArguments& a, std::int64_t from, std::int64_t to,
                                      Part::Range columns) {
    Row row;
    Lanes reduction;
    Chains chains;
    for_slots([&](auto s) __attribute__((always_inline)) { move_chain<s()>(a, chains, true); });
    for (std::int64_t r = from; r < to; ++r) {
      for_slots([&](auto s) __attribute__((always_inline)) {
        start_row<s()>(a, row, r);
        if constexpr (short_chains && plan.slots[s()].source == Source::batch_reduce) row.out[s()] = chains.template at<s()>();
      });
      if constexpr (group.row_reduces) {
        for_slots([&](auto s) __attribute__((always_inline)) { start_reduction<s()>(reduction); });
        constexpr std::int64_t whole = plan.columns / canonical_lanes * canonical_lanes;
        for (std::int64_t c = 0; c < whole; c += canonical_lanes) {
        GRADUAL_IVDEP
          for (int l = 0; l < canonical_lanes; ++l) element(row, reduction, c + l, l);
        }
        GRADUAL_IVDEP
        for (int l = 0; l < static_cast<int>(plan.columns - whole); ++l) element(row, reduction, whole + l, l);
        for_slots([&](auto s) __attribute__((always_inline)) { finish_reduction<s()>(row, reduction); });
      } else {
        GRADUAL_IVDEP
        for (std::int64_t c = columns.begin; c < columns.end; ++c) element(row, reduction, c, 0);
      }
    }
    for_slots([&](auto s) __attribute__((always_inline)) { move_chain<s()>(a, chains, false); });
  }
  static constexpr Part::Range whole_row() { return {0, plan.columns}; }

  static void run_flat(const StepArguments& a, std::int64_t first, std::int64_t last) {
    Row row;
    Lanes reduction;
    for_slots([&](auto s) __attribute__((always_inline)) { start_row<s()>(a, row, 0); });
    GRADUAL_IVDEP
    for (std::int64_t c = first; c < last; ++c) element(row, reduction, c, 0);
  }

  /// For every cut of the group: begins (total and chain from +0) or closes (total += chain) a block.
  template <class F>
  static void for_cuts(const StepArguments& a, Part::Range columns, F f) {
    for_slots([&](auto s) {
      if constexpr (plan.slots[s()].source == Source::batch_reduce) {
        constexpr int node = plan.slots[s()].node;
        auto* total = static_cast<T<s()>*>(a.address[node]);
        auto* chain = static_cast<T<s()>*>(a.open[node]);
        for (std::int64_t c = columns.begin; c < columns.end; ++c) f(total[c], chain[c]);
      }
    });
  }

 public:
  /// Elements for each sample, by which it is decided whether threads pay.
  static constexpr std::int64_t work() { return plan.domain.unit() * group.count; }
  /// A reduction over the batch leaves the columns to be shared out, which must be many and not reduced themselves.
  static constexpr bool divisible() { return !group.batch_reduces || (!group.row_reduces && plan.columns >= 64); }

  static void run(const StepArguments& a) {
    const std::int64_t batch = plan.domain.batched() ? a.batch : 1;
    if constexpr (plan.columns < 0) {
      const auto [first, last] = a.part.of(plan.domain.unit() * batch, 64);
      run_flat(a, first, last);
    } else if constexpr (!group.batch_reduces) {
      const auto [first, last] = a.part.of(plan.domain.product(0, plan.row_axes) * batch);
      run_rows(a, first, last, whole_row());
    } else {
      constexpr std::int64_t positions = plan.domain.product(0, plan.row_axes);
      const std::int64_t begin = a.begin * positions, end = begin + positions * batch;
      const Part::Range columns = divisible() ? a.part.of(plan.columns, 16) : whole_row();
      if (a.first) for_cuts(a, columns, [](auto& total, auto&) { total = 0; });
      for (std::int64_t at = begin; at < end;) {
        const std::int64_t stop = block_end(at, positions) < end ? block_end(at, positions) : end;
        if (block_begin(at, positions) == at) for_cuts(a, columns, [](auto&, auto& chain) { chain = 0; });
        run_rows(a, at - begin, stop - begin, columns);
        if (stop == block_end(at, positions) || (stop == end && a.last))
          for_cuts(a, columns, [](auto& total, auto& chain) { total += chain; });
        at = stop;
      }
    }
  }
};

}  // namespace gradual::cpu
