#pragma once
#include <bit>

#include <gradual/autodiff/ops.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/core/config.hpp>

// The loops of single ops, generated from the op lists: an op in a list has its loops without further changes.

namespace gradual::eager {

GRADUAL_BEGIN_LOOPS

template <class T>
using MapLoop = void (*)(void* out, const T* a, const T* b, const T* c, std::int64_t count);
template <class T>
using RowLoop = void (*)(T* out, const T* x, std::int64_t rows, std::int64_t columns);

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
  const std::int64_t whole = columns / canonical_lanes * canonical_lanes;
  for (std::int64_t r = 0; r < rows; ++r, x += columns) {
    T lane[canonical_lanes];
    for (int l = 0; l < canonical_lanes; ++l) lane[l] = identity;
    for (std::int64_t c = 0; c < whole; c += canonical_lanes)
      for (int l = 0; l < canonical_lanes; ++l) lane[l] = join(lane[l], x[c + l]);
    for (std::int64_t c = whole; c < columns; ++c) lane[c - whole] = join(lane[c - whole], x[c]);
    join_lanes(lane, join);
    out[r] = lane[0];
  }
}

template <class Op, class T>
void row_loop(T* out, const T* x, std::int64_t rows, std::int64_t columns) {
  reduce_rows(out, x, rows, columns, static_cast<T>(Op::identity),
              [](T a, T b) __attribute__((always_inline)) { return Op::apply(a, b); });
}

struct Loops {
  std::uint64_t id = 0;
  MapLoop<float> map_f32 = nullptr;
  MapLoop<double> map_f64 = nullptr;
  MapLoop<std::int32_t> map_i32 = nullptr;
  RowLoop<float> row_f32 = nullptr;
  RowLoop<double> row_f64 = nullptr;
};

template <class Op>
constexpr Loops loops() {
  Loops result;
  result.id = op_info<Op>.id;
  if constexpr (op_info<Op>.kind == Kind::map) {
    result.map_f32 = &map_loop<Op, float>;
    result.map_f64 = &map_loop<Op, double>;
    if constexpr (requires { Op::takes_integers; }) result.map_i32 = &map_loop<Op, std::int32_t>;
  } else if constexpr (requires { Op::identity; }) {
    result.row_f32 = &row_loop<Op, float>;
    result.row_f64 = &row_loop<Op, double>;
  }
  return result;
}

}  // namespace detail

/// Runs an elementwise op by its loop or, if it is in no list, by its scalar functor; missing operands are not read.
template <class T>
void run_map(const OpInfo& op, MapLoop<T> loop, T* out, const T* a, const T* b, const T* c, std::int64_t count) {
  if (loop != nullptr) return loop(out, a, b, c, count);
  for (std::int64_t i = 0; i < count; ++i) out[i] = apply_scalar<T>(op, a[i], b[i], c[i]);
}

/// The loops of the ops in a list, found by the op's id.
template <class Ops>
class LoopTable;
template <class... Op>
class LoopTable<OpList<Op...>> {
 public:
  constexpr LoopTable() {
    (add(detail::loops<Op>()), ...);
  }
  /// Returns the loops of an op; all null if it is not listed.
  constexpr const detail::Loops& of(const OpInfo& op) const { return entries_[slot_of(op.id)]; }

 private:
  static constexpr unsigned slots = std::bit_ceil(2u * static_cast<unsigned>(sizeof...(Op)) + 2);

  constexpr void add(const detail::Loops& loops) { entries_[slot_of(loops.id)] = loops; }
  constexpr unsigned slot_of(std::uint64_t id) const {
    auto slot = static_cast<unsigned>(id) % slots;
    while (entries_[slot].id != 0 && entries_[slot].id != id) slot = (slot + 1) % slots;
    return slot;
  }
  detail::Loops entries_[slots]{};
};

GRADUAL_END_LOOPS

}  // namespace gradual::eager
