#pragma once
#include <gradual/eager/readers.hpp>

#include <gradual/eager/by_sample.hpp>

namespace gradual::eager {

GRADUAL_ONCE void Readers::count(const Tape& tape, const ValueTable& values, std::span<const int> wanted) {
  of_.assign(tape.nodes.size(), {});
  for (const Root& root : tape.roots) add(tape, values, root.node);
  for (const int id : wanted)
    for (int k = 0; k < tape[id].op->arity; ++k) add(tape, values, tape[id].in[k]);
  while (!next_.empty()) {
    const Node& node = tape[next_.back()];
    next_.pop_back();
    for (int k = 0; k < node.op->arity; ++k) add(tape, values, node.in[k]);
  }
}

GRADUAL_ONCE void Readers::add(const Tape& tape, const ValueTable& values, int id) {
  Of& value = of_[static_cast<std::size_t>(id)];
  if (value.left++ > 0) return;
  value.view = is_view(tape[id].op->kind);
  if (value.view || values[id].noted) next_.push_back(id);
}

}  // namespace gradual::eager
