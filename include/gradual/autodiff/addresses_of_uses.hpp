#pragma once
#include <array>

#include <gradual/autodiff/ops/uses.hpp>
#include <gradual/autodiff/step_arguments.hpp>

namespace gradual {

/// Returns the addresses of the values that make up operand `Id` of a sum over the batch in program P.
template <class P, int Id>
auto addresses_of_uses(const StepArguments& s) {
  constexpr int count = count_of_uses(P::graph.nodes, Id);
  static constexpr auto storage = [] {
    std::array<int, count> of{};
    for (int u = 0; u < count; ++u) of[static_cast<std::size_t>(u)] = P::schedule.storage[use_of(P::graph.nodes, Id, u)];
    return of;
  }();
  std::array<const void*, count> values{};
  for (std::size_t u = 0; u < values.size(); ++u) values[u] = s.address[storage[u]];
  return values;
}

}  // namespace gradual
