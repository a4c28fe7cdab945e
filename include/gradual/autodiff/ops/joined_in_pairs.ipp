#pragma once
#include <gradual/autodiff/ops/joined_in_pairs.hpp>

#include <vector>

#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/pad.hpp>
#include <gradual/core/config.hpp>

namespace gradual::detail {

GRADUAL_ONCE Var joined_in_pairs(const Piece* pieces, int count, int axis, std::int64_t begin, std::int64_t end,
                                 double between) {
  if (count == 1) {
    const std::int64_t last = pieces->first + pieces->value.shape().extent[axis];
    return pad(pieces->value, axis, pieces->first - begin, end - last, between);
  }
  const int half = count / 2;
  const std::int64_t middle = pieces[half].first;
  const Var left = joined_in_pairs(pieces, half, axis, begin, middle, between);
  const Var right = joined_in_pairs(pieces + half, count - half, axis, middle, end, between);
  return pad(left, axis, 0, end - middle, between) + pad(right, axis, middle - begin, 0, between);
}

GRADUAL_ONCE Var joined_in_pairs(const Var* parts, int count, int axis, std::int64_t extent) {
  std::vector<Piece> pieces;
  std::int64_t before = 0;
  for (int i = 0; i < count; before += parts[i++].shape().extent[axis]) pieces.push_back({parts[i], before});
  return joined_in_pairs(pieces.data(), count, axis, 0, extent, -0.0);
}

}  // namespace gradual::detail
