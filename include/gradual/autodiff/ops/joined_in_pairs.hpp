#pragma once
#include <cstdint>

#include <gradual/autodiff/tape.hpp>

namespace gradual::detail {

/// A value that fills part of an axis of another value, from place `first` on.
struct Piece {
  Var value;
  std::int64_t first = 0;
};

/// From this many pieces on, a tape that runs its ops joins them in pairs, since it stores each padded value. Compilers never
/// do, so the functions are not constexpr.
inline constexpr int least_pieces_in_pairs = 8;

/// Returns the places [begin, end) along an axis, filled by pieces in order and side by side, and by `between` elsewhere: the
/// sum of two padded halves, each made in the same way. Has the bits of the sum of all pieces padded at once.
Var joined_in_pairs(const Piece* pieces, int count, int axis, std::int64_t begin, std::int64_t end, double between);

/// Returns parts side by side along an axis of `extent` places, which they fill.
Var joined_in_pairs(const Var* parts, int count, int axis, std::int64_t extent);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/ops/joined_in_pairs.ipp>
#endif
