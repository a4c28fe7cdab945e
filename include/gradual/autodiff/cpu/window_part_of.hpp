#pragma once
#include <gradual/autodiff/shadow.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/core/cpu/window_part.hpp>

namespace gradual::cpu {

/// Returns what a micro-batch adds to sum `Id` of program P, whose operands are T with so many positions for each sample.
template <class P, int Id, class T>
WindowPart<T, AccumulatorOf<P, Id, T>> window_part_of(const StepArguments& s, std::int64_t positions) {
  return {static_cast<AccumulatorOf<P, Id, T>*>(s.address[Id]),
          static_cast<T*>(s.open[Id]),
          s.begin * positions,
          s.batch * positions,
          s.first,
          s.last};
}

}  // namespace gradual::cpu
