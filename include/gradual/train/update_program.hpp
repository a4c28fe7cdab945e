#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include <gradual/autodiff/ops/input.hpp>
#include <gradual/autodiff/program_tables.hpp>
#include <gradual/autodiff/step_arguments.hpp>

namespace gradual::detail {

/// An update program P as a backend runs it, as functions: `gradual::kernels` has those of the rules in `shared_rules.hpp`.
template <class Backend, class P>
struct UpdateProgram {
  static const ProgramTables& tables();
  static const typename Backend::Kernels& kernels();
};

// Outside the class: inside it, compilers would instantiate them in every source that calls them.
template <class Backend, class P>
const ProgramTables& UpdateProgram<Backend, P>::tables() {
  return P::tables;
}
template <class Backend, class P>
const typename Backend::Kernels& UpdateProgram<Backend, P>::kernels() {
  return Backend::template kernels_of<P>;
}

/// Sets the addresses of an update's inputs and roots: `place(index)` is that of an array or of a parameter's part of one
/// (`update_place`), `scalars` the first of its numbers.
template <class Real, class F>
void place_arrays_of_update(const ProgramTables& update, const Real* scalars, F place, void** address) {
  for (int i = 0; i < update.size(); ++i) {
    const Node& node = update.node(i);
    if (node.op->kind != Kind::input) continue;
    const std::int64_t which = node.attributes.integer[0];
    address[i] = is_input(node, Input::scalar) ? const_cast<Real*>(scalars) + which : place(which);
  }
  for (const Root& root : update.roots) address[update.storage[root.node]] = place(root.index);
}

/// Sets the addresses of an update's temporaries, from `base` on: first those that are planned, then those computed from
/// numbers alone, a cache line each. The rest as `place_transient`.
inline void place_values_of_update(const ProgramTables& update, std::int64_t elements, std::byte* base, std::int64_t* offsets,
                                   void** address) {
  std::byte* next = update.place_transient(elements, base, offsets, address);
  for (int i = 0; i < update.size(); ++i)
    if (update.is_derived(i)) address[i] = std::exchange(next, next + alignment);
}

/// Runs an elementwise update (`ElementTrace`): numbers, then elements.
template <class Queue, class Kernels>
void run_by_element(Queue& queue, const Kernels& kernels, const StepArguments& arguments) {
  queue.run(kernels, Phase::prologue, arguments);
  queue.run(kernels, Phase::forward, arguments);
}

}  // namespace gradual::detail
