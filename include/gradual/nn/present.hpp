#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>

// Sequences that end early: `present`, [batch, steps], is 0 where there is nothing; not valid where all is there.

namespace gradual::detail {

/// Whether `present` fits x: [batch, steps, width]; else the tape says so, once.
constexpr bool check_present(const char* layer, Var x, Var present) {
  if (!x.valid() || !present.valid() || x.shape().rank != 3 ||
      (present.shape().rank == 2 && present.shape().extent[1] == x.shape().extent[1]))
    return true;
  x.tape->fail(Message() << layer << ": what is present of " << x.shape() << " is " << Shape::per_sample({x.shape().extent[1]})
                         << ", got " << present.shape(), {x});
  return false;
}

/// The states of a layer that could not be recorded: one for each step of x, none of which is there. What a model makes of them
/// is not there either, so that the tape's error is what a compiler comes to.
constexpr std::vector<Var> no_states(Var x) {
  const bool has_steps = x.valid() && x.shape().rank > 1 && x.shape().extent[1] > 0;
  return std::vector<Var>(has_steps ? static_cast<std::size_t>(x.shape().extent[1]) : 1);
}

/// The state after step t: `next`, or what it was before where nothing is there.
constexpr Var where_present(Var present, int t, Var next, Var before) {
  return present.valid() ? where(slice(present, 1, t, 1) != 0.0, next, before) : next;
}

}  // namespace gradual::detail
