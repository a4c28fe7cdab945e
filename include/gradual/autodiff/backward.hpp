#pragma once
#include <utility>
#include <vector>

#include <gradual/autodiff/ops/add.hpp>

namespace gradual {

/// What `backward` works in, for who calls it again and again.
struct BackwardSpace {
  std::vector<int> targets;
  std::vector<char> wanted;
  std::vector<Var> adjoint;  ///< by node id; an invalid Var where there is none
};

namespace detail {
/// Nodes are no longer recorded in the name of a layer when this ends.
struct NamedLayer {
  Tape& tape;
  constexpr ~NamedLayer() { tape.layer = -1; }
};
}  // namespace detail

/// Appends the adjoints of everything that `y` depends on, given y's own adjoint `seed` in y's shape, and leaves
/// them in `space.adjoint`. Derivative rules are ops, so the result can be differentiated again. Nodes that depend on
/// none of `space.targets` are passed over.
constexpr void backward(Var y, Var seed, BackwardSpace& space) {
  Tape& tape = *y.tape;
  const int count = y.id + 1;
  if (tape.first_adjoint < 0) tape.first_adjoint = seed.id;
  std::vector<char>& wanted = space.wanted;
  wanted.assign(static_cast<std::size_t>(count), 0);
  for (int t : space.targets)
    if (t < count) wanted[static_cast<std::size_t>(t)] = 1;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < tape[i].op->arity; ++k)
      if (wanted[static_cast<std::size_t>(tape[i].in[k])]) wanted[static_cast<std::size_t>(i)] = 1;
  std::vector<Var>& adjoint = space.adjoint;
  adjoint.assign(static_cast<std::size_t>(count), Var{});
  adjoint[static_cast<std::size_t>(y.id)] = seed;
  const detail::NamedLayer named{tape};
  for (int i = y.id; i >= 0; --i) {
    const Var g = adjoint[static_cast<std::size_t>(i)];
    const Node node = tape[i];
    if (!g.valid() || !wanted[static_cast<std::size_t>(i)] || node.op->arity == 0) continue;
    Var in[3], out[3];
    for (int k = 0; k < node.op->arity; ++k) in[k] = {&tape, node.in[k]};
    tape.layer = node.layer;
    node.op->vjp(g, in, {&tape, i}, out);
    for (int k = 0; k < node.op->arity; ++k) {
      if (!out[k].valid() || !wanted[static_cast<std::size_t>(node.in[k])]) continue;
      Var& sum = adjoint[static_cast<std::size_t>(node.in[k])];
      sum = sum.valid() ? sum + out[k] : out[k];
    }
  }
}

/// The same, returning the adjoints by node id.
constexpr std::vector<Var> backward(Var y, Var seed, const std::vector<int>& targets) {
  BackwardSpace space{targets, {}, {}};
  backward(y, seed, space);
  return std::move(space.adjoint);
}

}  // namespace gradual
