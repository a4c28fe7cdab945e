#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>

// Padded sequences: `present`, [batch, steps], is 0 at padding, and not valid if there is no padding.

namespace gradual::detail {

/// Returns whether `present` fits x: [batch, steps, width]; if not, reports it on the tape, once.
constexpr bool check_present(const char* layer, Var x, Var present) {
  if (!x.valid() || !present.valid() || x.shape().rank != 3 ||
      (present.shape().rank == 2 && present.shape().extent[1] == x.shape().extent[1]))
    return true;
  x.tape->fail(Message() << layer << ": `present` for " << x.shape() << " must be " << Shape::per_sample({x.shape().extent[1]})
                         << ", got " << present.shape(), {x});
  return false;
}

/// Returns whether a recurrent layer can run over x, [batch, steps, in], and `present`; if not, reports it on the tape.
constexpr bool check_steps(const char* layer, Var x, Var present) {
  if (!check_present(layer, x, present)) return false;
  if (!x.valid() || (x.shape().rank == 3 && x.shape().extent[1] != 0)) return true;
  x.tape->fail(Message() << layer << ": needs [batch, steps, in], got " << x.shape(), {x});
  return false;
}

/// Returns the states of a layer that could not be recorded: one invalid Var per step of x. Whatever a model computes from them
/// is invalid too, so that the compiler reaches the tape's error.
constexpr std::vector<Var> no_states(Var x) {
  const bool has_steps = x.valid() && x.shape().rank > 1 && x.shape().extent[1] > 0;
  return std::vector<Var>(has_steps ? static_cast<std::size_t>(x.shape().extent[1]) : 1);
}

/// Returns the state after step t: `next`, or `before` where the step is padding.
constexpr Var where_present(Var present, int t, Var next, Var before) {
  return present.valid() ? where(slice(present, 1, t, 1) != 0.0, next, before) : next;
}

}  // namespace gradual::detail
