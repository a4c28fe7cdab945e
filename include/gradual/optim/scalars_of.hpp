#pragma once
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gradual/autodiff/graph.hpp>
#include <gradual/autodiff/scalar.hpp>

namespace gradual {

namespace detail {
[[noreturn, gnu::cold]] void refuse_rule();
[[gnu::cold]] std::optional<std::vector<Scalar>> find_scalars(std::span<const Node> program, std::span<const Root> roots,
                                                              const Tape& recorded);
}  // namespace detail

/// The numbers of a rule in the places where the program of its type, recorded by the compiler, reads them. In which order
/// the operands of an expression are recorded is the compiler's choice, and may be another at run time: numbers are paired
/// by what becomes of them. `recorded`: the rule with its numbers. Nothing where that is another program.
template <Counts C>
std::optional<std::vector<Scalar>> find_scalars(const Graph<C>& program, const Tape& recorded) {
  const std::span<const Node> nodes(program.nodes, static_cast<std::size_t>(C.nodes));
  const std::span<const Root> roots(program.roots, static_cast<std::size_t>(C.roots));
  return detail::find_scalars(nodes, roots, recorded);
}

/// The same. Errors: OptionError where it is another program.
template <Counts C>
[[gnu::cold]] std::vector<Scalar> scalars_of(const Graph<C>& program, const Tape& recorded) {
  std::optional<std::vector<Scalar>> scalars = find_scalars(program, recorded);
  if (!scalars) detail::refuse_rule();
  return std::move(*scalars);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/optim/scalars_of.ipp>
#endif
