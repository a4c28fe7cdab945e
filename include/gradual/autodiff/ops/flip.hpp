#pragma once
#include <gradual/autodiff/ops/concat.hpp>
#include <gradual/autodiff/ops/inner_axis.hpp>
#include <gradual/autodiff/ops/pad.hpp>
#include <gradual/autodiff/ops/reshape.hpp>
#include <gradual/autodiff/ops/slice.hpp>

namespace gradual {

namespace detail {
/// Swaps neighbouring blocks of `size` places along an axis.
constexpr Var swap_blocks(Var x, int axis, std::int64_t size) {
  const Shape whole = x.shape();
  Shape pairs;  // neighbouring axes are joined, except the sample axis and that of the two blocks
  bool joins = false;
  const auto add = [&](std::int64_t extent, bool joined) {
    if (joins && joined) pairs.extent[pairs.rank - 1] *= extent;
    else pairs.extent[pairs.rank++] = extent;
    joins = joined;
  };
  int two = 0;
  for (int i = 0; i < whole.rank; ++i)
    if (i == whole.batch_axis) {
      pairs.batch_axis = pairs.rank;
      add(whole.extent[i], false);
    } else if (i == axis) {
      add(whole.extent[i] / (2 * size), true);
      two = pairs.rank;
      add(2, false);
      add(size, true);
    } else {
      add(whole.extent[i], true);
    }
  const Var blocks = reshape(x, pairs), parts[] = {slice(blocks, two, 1, 1), slice(blocks, two, 0, 1)};
  return reshape(concat(parts, 2, two), whole);
}
}  // namespace detail

/// Returns x with its places along `axis` (negative: from the end) in reverse order, to the bit. Makes log2 n copies for n
/// places: neighbours are swapped, then pairs, then fours. Errors: an axis out of range; the sample axis; integers.
constexpr Var flip(Var x, int axis) {
  const detail::Composite called("flip", x);
  if (!x.valid()) return {};
  const int at = detail::inner_axis(x, "flip", axis);
  if (at < 0) return {};
  if (x.dtype() == DType::i32) return refuse_integers("flip", &x, 1);
  const std::int64_t places = x.shape().extent[at];
  if (places < 2) return x;
  std::int64_t room = 2;
  while (room < places) room *= 2;
  Var turned = pad(x, at, 0, room - places);
  for (std::int64_t size = 1; size < room; size *= 2) turned = detail::swap_blocks(turned, at, size);
  return slice(turned, at, room - places, places);
}

}  // namespace gradual
