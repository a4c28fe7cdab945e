#pragma once
#include <gradual/autodiff/loop_body.hpp>
#include <gradual/core/cpu/simd.hpp>

namespace gradual::cpu {

/// The last columns of a reduced row, if they do not fill a vector, computed as one more vector. It reads copies, and its
/// results are copied to where they belong, so that lanes beyond the row touch nothing. These lanes repeat the first of the
/// columns, and so raise no other floating-point exceptions.
template <class P, int G>
class RowEnd {
  using Body = LoopBody<P, G>;
  using Row = typename Body::Row;

  static constexpr bool is_read(const Slot& slot) { return is_read_with_element(slot) || slot.source == Source::join; }
  static constexpr bool is_stored(const Slot& slot) { return slot.stored && !slot.uniform && !is_reduced(slot); }
  static constexpr bool is_repeated(const Slot& slot) {
    return slot.source == Source::view && slot.stride[Body::rank - 1] == 0;
  }
  static constexpr bool is_copied(const Slot& slot) { return is_read(slot) || is_stored(slot); }

  /// Whether all that is copied or reduced has this type and lies in order.
  static constexpr bool all_are(DType dtype) {
    for (int s = 0; s < Body::slots; ++s) {
      const Slot& slot = Body::plan.slots[s];
      if (is_copied(slot) && slot.dtype != dtype) return false;
      if (is_reduced(slot) && Body::plan.slots[slot.in[0]].dtype != dtype) return false;
      if (slot.source == Source::pad) return false;
      if (slot.source == Source::view && !slot.uniform && !Body::plan.in_order(s, Body::row_axes)) return false;
    }
    return true;
  }
  using Real = std::conditional_t<all_are(DType::f64), double, float>;
  using Vector = Vec<Real>;

 public:
  static constexpr int width = Vector::width;
  static constexpr int count = Body::columns > 0 ? static_cast<int>(Body::columns % width) : 0;
  static constexpr std::int64_t begin = Body::columns - count;  ///< the first of its columns
  /// Eight columns already are a vector, and shorter rows are computed side by side.
  static constexpr bool apply = Body::group.row_reduces && Body::columns > canonical_lanes && count % 8 > 0 &&
                                (all_are(DType::f32) || all_are(DType::f64));

  /// Computes these columns of a row after all others; changes the row's pointers.
  template <class Sink>
  GRADUAL_INLINE void run(Row& row, Sink& sink) {
    Body::template for_slots<is_copied>([&](auto s) __attribute__((always_inline)) { turn_to_copy<s()>(row); });
    GRADUAL_IVDEP
    GRADUAL_KEEP_LOOP  // else they would be computed one by one
    for (int l = 0; l < width; ++l) {
      Place<Sink> place{*this, sink, l};
      Body::template element<true, begin>(row, place, begin + l);
    }
    Body::template for_slots<is_stored>([&](auto s) __attribute__((always_inline)) {
      __builtin_memcpy(stored_[s()], copy_[s()], count * sizeof(Real));
    });
  }

  /// Sums over the batch stay here from row to row.
  template <int S>
  GRADUAL_INLINE void start_chain(const Real* memory) {
    for (int l = 0; l < width; ++l) chain_[S][l] = memory[begin + (l < count ? l : 0)];
  }
  template <int S>
  GRADUAL_INLINE void keep_chain(Real* memory) const {
    for (int l = 0; l < count; ++l) memory[begin + l] = chain_[S][l];
  }

 private:
  alignas(64) Real copy_[Body::slots][width];
  alignas(64) Real chain_[Body::group.batch_reduces ? Body::slots : 1][width];
  Real* stored_[Body::slots];

  template <int S>
  GRADUAL_INLINE void turn_to_copy(Row& row) {
    if constexpr (is_read(Body::template slot<S>)) {
      constexpr bool repeated = is_repeated(Body::template slot<S>);
      const Real* const in = static_cast<const Real*>(row.in[S]) + (repeated ? 0 : begin);
      Vector::load(in, repeated ? 1 : count, Vector::broadcast(*in)).store(copy_[S]);
      row.in[S] = copy_[S];
    }
    if constexpr (is_stored(Body::template slot<S>)) {
      stored_[S] = static_cast<Real*>(row.out[S]) + begin;
      row.out[S] = copy_[S];
    }
  }

  /// The target of one lane's reductions; lanes beyond the row have none.
  template <class Sink>
  struct Place {
    RowEnd& end;
    Sink& sink;
    int lane;

    template <int S>
    GRADUAL_INLINE void reduce(Real x, std::int64_t c) {
      if constexpr (is_batch_reduced(Body::template slot<S>)) {
        end.chain_[S][lane] += x;
      } else {
        using Lane = typename Body::template Lane<S>;
        const int at = static_cast<int>(begin % canonical_lanes) + lane;
        auto value = sink.template get<S>(at);
        const auto joined = Lane::join(value, Lane::of(x, c));
        if constexpr (Body::template is_argmax<S>) {
          value = {math::select(lane < count, joined.value, value.value), lane < count ? joined.index : value.index};
        } else {
          value = math::select(lane < count, joined, value);
        }
        sink.template put<S>(at, value);
      }
    }
  };
};

}  // namespace gradual::cpu
