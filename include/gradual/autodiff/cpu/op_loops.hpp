#pragma once
#include <bit>

#include <gradual/autodiff/ops.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/core/config.hpp>

// The loops of single ops, generated from the op lists: an op in a list has its loops without further changes.

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// Computes an elementwise op; one that compares or converts integers writes floats.
template <class T>
using MapLoop = void (*)(void* out, const T* a, const T* b, const T* c, std::int64_t count);

/// The loops of one op in T; null where it has none.
template <class T>
struct LoopsIn {
  MapLoop<T> map = nullptr;
  /// Reduces each row to a number.
  void (*rows)(T* out, const T* x, std::int64_t rows, std::int64_t columns) = nullptr;
  /// Joins column c of a row to lane c mod 32.
  void (*lanes)(T* lane, const T* x, std::int64_t columns) = nullptr;
};
/// The loops of one op.
struct OpLoops {
  std::uint64_t id = 0;
  LoopsIn<float> f32;
  LoopsIn<double> f64;
  MapLoop<std::int32_t> map_i32 = nullptr;

  template <class T>
  constexpr const LoopsIn<T>& in() const {
    if constexpr (std::is_same_v<T, double>) return f64;
    else return f32;
  }
};

namespace detail {

/// Computes out[i] = op(a[i], b[i], c[i]); comparisons of integers give float. Flattened, since a call prevents vectorisation.
template <class Op, class T>
[[gnu::flatten]] void map_loop(void* out, const T* a, const T* b, const T* c, std::int64_t count) {
  using R = std::conditional_t<std::is_same_v<T, std::int32_t>, float, T>;
  R* const to = static_cast<R*>(out);
  GRADUAL_IVDEP
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (Op::arity == 1) to[i] = static_cast<R>(Op::apply(a[i]));
    else if constexpr (Op::arity == 2) to[i] = static_cast<R>(Op::apply(a[i], b[i]));
    else to[i] = static_cast<R>(Op::apply(a[i], b[i], c[i]));
  }
}

/// Reduces in canonical order within one sample (core/canonical.hpp). Rows are computed side by side, so that short ones fill
/// vectors too; lanes without an element hold the identity and are skipped.
template <class T, class F>
GRADUAL_INLINE void reduce_short_rows(T* out, const T* x, std::int64_t rows, std::int64_t columns, T identity, F join) {
  constexpr std::int64_t together = 16;
  T lane[canonical_lanes][together]{};
  for (std::int64_t first = 0; first < rows; first += together) {
    const std::int64_t count = rows - first < together ? rows - first : together;
    for (std::int64_t c = 0; c < columns && count < together; ++c)  // the first row beyond the last: others could overflow
      for (std::int64_t r = 0; r < together; ++r) lane[c][r] = x[c];
    for (std::int64_t r = 0; r < count; ++r, x += columns)
      for (std::int64_t c = 0; c < columns; ++c) lane[c][r] = x[c];
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = 0; r < together; ++r) lane[c][r] = join(identity, lane[c][r]);
    for (std::int64_t half = canonical_lanes / 2; half > 0; half /= 2)
      for (std::int64_t l = 0; l < half && l + half < columns; ++l)
        for (std::int64_t r = 0; r < together; ++r) lane[l][r] = join(lane[l][r], lane[l + half][r]);
    for (std::int64_t r = 0; r < count; ++r) out[first + r] = columns == 0 ? identity : lane[0][r];
  }
}

template <class T, class F>
GRADUAL_INLINE void add_to_lanes(T* lane, const T* x, std::int64_t columns, F join) {
  const std::int64_t whole = columns / canonical_lanes * canonical_lanes;
  for (std::int64_t c = 0; c < whole; c += canonical_lanes)
    for (int l = 0; l < canonical_lanes; ++l) lane[l] = join(lane[l], x[c + l]);
  for (std::int64_t c = whole; c < columns; ++c) lane[c - whole] = join(lane[c - whole], x[c]);
}

/// Each level is a loop of its own; unrolled, it would be joined lane by lane instead of in vectors.
template <int Half = canonical_lanes / 2, class T, class F>
GRADUAL_INLINE void join_lanes(T* lane, F join) {
  GRADUAL_IVDEP
  GRADUAL_KEEP_LOOP
  for (int l = 0; l < Half; ++l) lane[l] = join(lane[l], lane[l + Half]);
  if constexpr (Half > 1) join_lanes<Half / 2>(lane, join);
}

/// Does the same as `reduce_short_rows` for rows of any length.
template <class T, class F>
GRADUAL_INLINE void reduce_rows(T* out, const T* x, std::int64_t rows, std::int64_t columns, T identity, F join) {
  if (columns < canonical_lanes) return reduce_short_rows(out, x, rows, columns, identity, join);
  for (std::int64_t r = 0; r < rows; ++r, x += columns) {
    T lane[canonical_lanes];
    for (int l = 0; l < canonical_lanes; ++l) lane[l] = identity;
    add_to_lanes(lane, x, columns, join);
    join_lanes(lane, join);
    out[r] = lane[0];
  }
}

template <class Op>
struct Join {
  template <class T>
  GRADUAL_INLINE T operator()(T a, T b) const {
    return Op::apply(a, b);
  }
};
template <class Op, class T>
void row_loop(T* out, const T* x, std::int64_t rows, std::int64_t columns) {
  reduce_rows(out, x, rows, columns, static_cast<T>(Op::identity), Join<Op>{});
}
template <class Op, class T>
void lane_loop(T* lane, const T* x, std::int64_t columns) {
  add_to_lanes(lane, x, columns, Join<Op>{});
}

template <class Op>
constexpr OpLoops loops_of() {
  OpLoops result;
  result.id = op_info<Op>.id;
  if constexpr (op_info<Op>.kind == Kind::map) {
    if constexpr (op_info<Op>.takes_floats) result.f32.map = &map_loop<Op, float>;
    if constexpr (op_info<Op>.takes_doubles) result.f64.map = &map_loop<Op, double>;
    if constexpr (requires { Op::takes_integers; }) result.map_i32 = &map_loop<Op, std::int32_t>;
  } else if constexpr (requires { Op::identity; }) {
    if constexpr (op_info<Op>.takes_floats) result.f32 = {nullptr, &row_loop<Op, float>, &lane_loop<Op, float>};
    if constexpr (op_info<Op>.takes_doubles) result.f64 = {nullptr, &row_loop<Op, double>, &lane_loop<Op, double>};
  }
  return result;
}

}  // namespace detail

// These run an op by its loops or, if it is in no list, by its scalar functor.

/// Missing operands are not read.
template <class T>
void run_map(const OpInfo& op, const OpLoops& loops, T* out, const T* a, const T* b, const T* c, std::int64_t count) {
  if (const auto loop = loops.in<T>().map) return loop(out, a, b, c, count);
  for (std::int64_t i = 0; i < count; ++i) out[i] = apply_scalar<T>(op, a[i], b[i], c[i]);
}
/// Does the same for an op of integers.
inline void run_map(const OpInfo& op, const OpLoops& loops, float* out, const std::int32_t* a, const std::int32_t* b,
                    const std::int32_t* c, std::int64_t count) {
  if (loops.map_i32 != nullptr) return loops.map_i32(out, a, b, c, count);
  for (std::int64_t i = 0; i < count; ++i) out[i] = op.i32(a[i], b[i], c[i]);
}
template <class T>
void run_rows(const OpInfo& op, const OpLoops& loops, T* out, const T* x, std::int64_t rows, std::int64_t columns) {
  if (const auto loop = loops.in<T>().rows) return loop(out, x, rows, columns);
  detail::reduce_rows(out, x, rows, columns, static_cast<T>(op.identity),
                      [&](T a, T b) { return apply_scalar<T>(op, a, b, 0); });
}
template <class T>
void run_lanes(const OpInfo& op, const OpLoops& loops, T* lane, const T* x, std::int64_t columns) {
  if (const auto loop = loops.in<T>().lanes) return loop(lane, x, columns);
  detail::add_to_lanes(lane, x, columns, [&](T a, T b) { return apply_scalar<T>(op, a, b, 0); });
}

/// The loops of the ops in a list that are not in another list, found by the op's id.
template <class Ops, class Others = OpList<>>
class LoopTable;
template <class... Op, class Others>
class LoopTable<OpList<Op...>, Others> {
  template <class Each>
  static constexpr bool has = index_in(Others{}, op_info<Each>) < 0;

 public:
  constexpr LoopTable() { (add<Op>(), ...); }
  /// Returns the loops of an op; all null if it is not listed.
  constexpr const OpLoops& of(const OpInfo& op) const { return entries_[slot_of(op.id)]; }

 private:
  static constexpr unsigned slots = std::bit_ceil(2u * (0u + ... + unsigned{has<Op>}) + 2);

  template <class Each>
  constexpr void add() {
    if constexpr (has<Each>) entries_[slot_of(op_info<Each>.id)] = detail::loops_of<Each>();
  }
  constexpr unsigned slot_of(std::uint64_t id) const {
    auto slot = static_cast<unsigned>(id) % slots;
    while (entries_[slot].id != 0 && entries_[slot].id != id) slot = (slot + 1) % slots;
    return slot;
  }
  OpLoops entries_[slots]{};
};

/// Returns the loops of an op of the library; all null if it is another's. Where sources link gradual::kernels, only that has
/// these loops: unoptimised ones, from a source that has ops of its own, must not take their place.
const OpLoops& library_loops(const OpInfo& op);

/// The loops of the ops that kernels may call for a model or rule.
template <class Ops>
struct KnownLoops {
  static const OpLoops& of(const OpInfo& op) {
    const OpLoops& own = table.of(op);
    return own.id == op.id ? own : library_loops(op);
  }

 private:
  static constexpr LoopTable<Ops, OpsFor<void>> table{};
};

GRADUAL_END_LOOPS

}  // namespace gradual::cpu

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/cpu/op_loops.ipp>
#endif
