#pragma once
#include <vector>

#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// Appends the adjoints of everything that `y` depends on, given y's own adjoint `seed` in y's shape, and returns
/// them by node id (an invalid Var where there is none). Derivative rules are ops, so the result can be differentiated
/// again. Nodes that depend on none of `targets` are passed over.
constexpr std::vector<Var> backward(Var y, Var seed, const std::vector<int>& targets) {
  Tape& tape = *y.tape;
  const int count = y.id + 1;
  if (tape.first_adjoint < 0) tape.first_adjoint = seed.id;
  std::vector<char> wanted(static_cast<std::size_t>(count), 0);
  for (int t : targets)
    if (t < count) wanted[static_cast<std::size_t>(t)] = 1;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < tape[i].op->arity; ++k)
      if (wanted[static_cast<std::size_t>(tape[i].in[k])]) wanted[static_cast<std::size_t>(i)] = 1;
  std::vector<Var> adjoint(static_cast<std::size_t>(count));
  adjoint[static_cast<std::size_t>(y.id)] = seed;
  for (int i = y.id; i >= 0; --i) {
    const Var g = adjoint[static_cast<std::size_t>(i)];
    const Node node = tape[i];
    if (!g.valid() || !wanted[static_cast<std::size_t>(i)] || node.op->arity == 0) continue;
    Var in[3], out[3];
    for (int k = 0; k < node.op->arity; ++k) in[k] = {&tape, node.in[k]};
    node.op->vjp(g, in, {&tape, i}, out);
    for (int k = 0; k < node.op->arity; ++k) {
      if (!out[k].valid() || !wanted[static_cast<std::size_t>(node.in[k])]) continue;
      Var& sum = adjoint[static_cast<std::size_t>(node.in[k])];
      sum = sum.valid() ? sum + out[k] : out[k];
    }
  }
  return adjoint;
}

}  // namespace gradual
