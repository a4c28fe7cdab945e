#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include <gradual/autodiff/program_tables.hpp>
#include <gradual/autodiff/step_arguments.hpp>

namespace gradual::detail {

/// An update program P as one backend runs it, by functions: `gradual::kernels` has those of the rules in `shared_rules.hpp`.
template <class Backend, class P>
struct UpdateProgram {
  static const ProgramTables& tables();
  static const typename Backend::Kernels& kernels();
};

// Not where they are declared, where a compiler would make them of each source that calls them.
template <class Backend, class P>
const ProgramTables& UpdateProgram<Backend, P>::tables() {
  return P::tables;
}
template <class Backend, class P>
const typename Backend::Kernels& UpdateProgram<Backend, P>::kernels() {
  return Backend::template kernels_of<P>;
}

/// Gives what an update keeps while it runs its addresses, from `base` on: first what is planned, then what is computed of
/// numbers alone, a line for each. The rest as `place_transient`.
inline void place_values_of_update(const ProgramTables& update, std::int64_t elements, std::byte* base, std::int64_t* offsets,
                                   void** address) {
  std::byte* next = update.place_transient(elements, base, offsets, address);
  for (int i = 0; i < update.size(); ++i)
    if (update.is_derived(i)) address[i] = std::exchange(next, next + alignment);
}

/// Runs an update by element (`ElementTrace`): numbers, then elements.
template <class Queue, class Kernels>
void run_by_element(Queue& queue, const Kernels& kernels, const StepArguments& arguments) {
  queue.run(kernels, Phase::prologue, arguments);
  queue.run(kernels, Phase::forward, arguments);
}

}  // namespace gradual::detail
