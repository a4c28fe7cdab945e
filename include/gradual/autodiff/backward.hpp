#pragma once
#include <utility>
#include <vector>

#include <gradual/autodiff/backward_space.hpp>
#include <gradual/autodiff/joined_slices.hpp>
#include <gradual/autodiff/operand_list.hpp>
#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/convert.hpp>
#include <gradual/autodiff/ops/slice.hpp>
#include <gradual/core/set_while.hpp>

namespace gradual {

/// Appends the adjoints of everything that `y` depends on, given y's own adjoint `seed` in y's shape, and leaves
/// them in `space.adjoint`. Derivative rules are ops, so the result can be differentiated again. Nodes that depend on
/// none of `space.targets` are skipped. Adjoints of slices of one value are added once all of them have been passed: that is
/// one kernel, where each step of a sequence would otherwise add to the whole value. Adjoints from uses of one parameter are
/// added at the end, those by the same op and shape as one sum (`SumsOfUses`).
template <class = void>  // so that gradual::kernels can have the code
[[gnu::noinline]] constexpr void backward(Var y, Var seed, BackwardSpace& space) {
  Tape& tape = *y.tape;
  const int count = y.id + 1;
  if (tape.first_adjoint < 0) tape.first_adjoint = seed.id;
  space.wanted.assign(static_cast<std::size_t>(count), 0);
  char* const wanted = space.wanted.data();
  for (int t : space.targets)
    if (t < count) wanted[t] = 1;
  // Plain pointers: compilers take long to evaluate the functions of std::vector.
  for (const Node *const nodes = tape.nodes.data(), *node = nodes; node < nodes + count; ++node)
    for (int k = 0; k < node->op->arity; ++k)
      if (wanted[node->in[k]]) wanted[node - nodes] = 1;
  std::vector<Var>& adjoint = space.adjoint;
  adjoint.assign(static_cast<std::size_t>(count), Var{});
  adjoint[static_cast<std::size_t>(y.id)] = seed;
  std::vector<int>& slices = space.slices;
  std::vector<int>& sibling = space.sibling;
  slices.assign(static_cast<std::size_t>(count), -1);
  sibling.assign(static_cast<std::size_t>(count), -1);
  SumsOfUses& uses = space.uses;
  uses.begin(tape, y.id);
  const SetWhile<bool> recording(tape.in_backward, true);  // perhaps by a rule inside another backward
  const SetWhile<int> layer(tape.layer, tape.layer);       // each adjoint is recorded under the name of a layer
  const auto give = [&](int to, Var g) {
    Var& sum = adjoint[static_cast<std::size_t>(to)];
    sum = sum.valid() ? sum + g : g;
  };
  const auto pass = [&](int i) {
    const Node node = tape[i];
    Var in[1 + most_operands], out[1 + most_operands];
    const int operands = detail::read_operands(tape, node, in);
    tape.layer = node.layer;
    node.op->vjp(adjoint[static_cast<std::size_t>(i)], in, {&tape, i}, out);
    for (int k = 0; k < operands; ++k) {
      if (!out[k].valid() || !wanted[in[k].id]) continue;
      out[k] = convert(out[k], adjoint_type(in[k]));
      if (!in[k].shape().batched()) {
        uses.add(in[k].id, i, out[k]);
        continue;
      }
      give(in[k].id, out[k]);
    }
  };
  for (auto place = uses.order().size(); place-- > 0;) {  // so that uses are added in one order, traced or run
    const int i = uses.order()[place];
    const auto at = static_cast<std::size_t>(i);
    if (slices[at] >= 0 && wanted[i]) {
      const bool joins = tape.executor != nullptr && tape[i].shape.batched();
      const Var joined = joins ? detail::joined_slices({&tape, i}, slices[at], space) : Var{};
      if (joined.valid()) give(i, joined);
      else
        for (int slice = slices[at]; slice >= 0; slice = sibling[static_cast<std::size_t>(slice)]) pass(slice);
    }
    uses.passed(tape, i, adjoint);
    if (!adjoint[at].valid() || !wanted[i] || tape[i].op->arity == 0) continue;
    if (is<Slice>(tape[i])) {
      int& last = slices[static_cast<std::size_t>(tape[i].in[0])];
      sibling[at] = last;
      last = i;
    } else {
      pass(i);
    }
  }
  uses.finish(tape, adjoint);
}

/// Does the same and returns the adjoints by node id.
constexpr std::vector<Var> backward(Var y, Var seed, const std::vector<int>& targets) {
  BackwardSpace space;
  space.targets = targets;
  backward(y, seed, space);
  return std::move(space.adjoint);
}

}  // namespace gradual
