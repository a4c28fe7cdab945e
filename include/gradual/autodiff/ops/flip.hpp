#pragma once
#include <gradual/autodiff/ops/constant.hpp>
#include <gradual/autodiff/ops/convert.hpp>
#include <gradual/autodiff/ops/floor.hpp>
#include <gradual/autodiff/ops/inner_axis.hpp>
#include <gradual/autodiff/ops/iota.hpp>
#include <gradual/autodiff/ops/less.hpp>
#include <gradual/autodiff/ops/pad.hpp>
#include <gradual/autodiff/ops/slice.hpp>
#include <gradual/autodiff/ops/where.hpp>

namespace gradual {

namespace detail {
/// Of each two blocks of `size` places along an axis the second, and then the first.
constexpr Var swap_blocks(Var x, int axis, std::int64_t size) {
  const std::int64_t rest = x.shape().extent[axis] - size;
  Shape along{};
  along.rank = x.shape().rank - axis;
  for (int i = 0; i < along.rank; ++i) along.extent[i] = i == 0 ? rest + size : 1;
  const Var block = floor(convert(iota(constant_like(x, along, 0), 0), DType::f32) * (1.0 / static_cast<double>(size)));
  const Var is_first = block - 2.0 * floor(0.5 * block) < 0.5;
  return where(is_first, pad(slice(x, axis, size, rest), axis, 0, size), pad(slice(x, axis, 0, rest), axis, size, 0));
}
}  // namespace detail

/// The places along `axis` (negative: from the end) in the other order. Of n places it takes log2 n copies: neighbours change
/// places, then pairs, then fours. Errors: an axis out of range; the sample axis; integers.
constexpr Var flip(Var x, int axis) {
  const detail::Composite called("flip", x);
  if (!x.valid()) return {};
  const int at = detail::inner_axis(x, "flip", axis);
  if (at < 0) return {};
  if (x.dtype() == DType::i32) return refuse_integers(*x.tape, "flip", x.tape->in_layer({x}));
  const std::int64_t places = x.shape().extent[at];
  if (places < 2) return x;
  std::int64_t room = 2;
  while (room < places) room *= 2;
  Var turned = pad(x, at, 0, room - places);
  for (std::int64_t size = 1; size < room; size *= 2) turned = detail::swap_blocks(turned, at, size);
  return slice(turned, at, room - places, places);
}

}  // namespace gradual
