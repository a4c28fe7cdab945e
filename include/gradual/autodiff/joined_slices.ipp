#pragma once
#include <gradual/autodiff/joined_slices.hpp>

#include <algorithm>

#include <gradual/autodiff/ops/convert.hpp>
#include <gradual/autodiff/ops/joined_in_pairs.hpp>
#include <gradual/core/config.hpp>

namespace gradual::detail {

GRADUAL_ONCE Var joined_slices(Var whole, int last, BackwardSpace& space) {
  Tape& tape = *whole.tape;
  const std::int64_t axis = tape[last].attributes.integer[0];
  space.pieces.clear();
  for (int slice = last; slice >= 0; slice = space.sibling[static_cast<std::size_t>(slice)]) {
    if (tape[slice].attributes.integer[0] != axis) return {};
    space.pieces.push_back({space.adjoint[static_cast<std::size_t>(slice)], tape[slice].attributes.integer[1]});
  }
  if (std::ssize(space.pieces) < least_pieces_in_pairs) return {};
  std::ranges::sort(space.pieces, {}, &Piece::first);
  const int at = static_cast<int>(axis), count = static_cast<int>(space.pieces.size());
  for (std::size_t i = 1; i < space.pieces.size(); ++i) {
    const Piece& before = space.pieces[i - 1];
    if (before.first + before.value.shape().extent[at] > space.pieces[i].first) return {};
  }
  tape.layer = tape[last].layer;
  return convert(joined_in_pairs(space.pieces.data(), count, at, 0, whole.shape().extent[at], 0.0), adjoint_type(whole));
}

}  // namespace gradual::detail
