#pragma once
#include <type_traits>

#include <gradual/autodiff/program.hpp>
#include <gradual/optim/elementwise.hpp>
#include <gradual/optim/in_place.hpp>
#include <gradual/optim/trace_update.hpp>

namespace gradual {

namespace detail {

/// Makes each element of an elementwise update a sample, so that its program fits any number. Numbers are computed first.
constexpr Tape with_elements_as_samples(Tape tape) {
  const Shape row = tape.inputs[0].shape;
  for (Node& node : tape.nodes)
    if (node.shape == row) node.shape = Shape::per_sample({});
  tape.first_adjoint = tape.size();
  return tape;
}

template <class Rule, class Real>
struct ElementTrace {
  using Ops = OpsFor<Rule>;
  static constexpr Tape tape() { return with_elements_as_samples(trace_update(Rule{}, 1, dtype_of<Real>)); }
};

/// Returns whether each root is the input that it replaces, or is computed by ops that kernels know.
template <class Rule>
constexpr bool has_kernels(const Tape& tape) {
  bool result = tape.error.empty();
  for (const Node& node : tape.nodes)
    result = result && (node.op->kind != Kind::map || index_in(OpsFor<Rule>{}, *node.op) >= 0);
  for (const Root& root : tape.roots)
    result = result && (tape[root.node].op->kind == Kind::map || tape[root.node].op->kind == Kind::input);
  return result;
}

/// Returns whether a rule works by element, tested on parameters that reveal states of other shapes and updates by rank.
template <class Rule>
constexpr bool suits_elements() {
  ParameterInfo some[3];
  some[0].shape = Shape{5}, some[1].shape = Shape{2, 3}, some[2].shape = Shape{2, 3, 2, 2};
  const Tape tape = trace_update(Rule{}, some);
  return is_elementwise(tape) && has_kernels<Rule>(tape);
}
template <class Rule>
concept SuitsElements = requires { typename std::bool_constant<suits_elements<Rule>()>; } && suits_elements<Rule>();

/// What must be known of the program of an update by element before it is compiled, or where it is compiled already.
struct ElementProgram {
  int nodes = 0;          ///< 0: the rule looks at other elements, or the compiler cannot trace it
  int numbers = 0;        ///< computed once, before all elements
  int scalars = 0;        ///< of the rule
  bool one_loop = false;  ///< nothing is kept per element between loops

  constexpr bool operator==(const ElementProgram&) const = default;
};

template <class Rule, class Real>
constexpr ElementProgram find_element_program() {
  ElementProgram found;
  if constexpr (SuitsElements<Rule>) {
    using P = Program<ElementTrace<Rule, Real>>;
    if (updates_in_place<P>()) {
      found.nodes = P::nodes;
      for (int i = 0; i < P::nodes; ++i) found.numbers += P::tables.is_derived(i);
      found.scalars = static_cast<int>(ElementTrace<Rule, Real>::tape().scalars.size());
      found.one_loop = P::plan.bytes(1) == 0;
    }
  }
  return found;
}
template <class Rule, class Real>
inline constexpr ElementProgram element_program = find_element_program<Rule, Real>();

/// Returns the bytes that such a program keeps while it runs: its numbers, behind what it keeps per element.
template <class Rule, class Real>
constexpr std::int64_t element_program_bytes(std::int64_t elements) {
  constexpr ElementProgram known = element_program<Rule, Real>;
  std::int64_t bytes = known.numbers * alignment;
  if constexpr (!known.one_loop) bytes += Program<ElementTrace<Rule, Real>>::plan.bytes(elements);
  return bytes;
}

}  // namespace detail

/// Rules that the compiler can trace and that treat each element by itself: their program runs for any number of elements, and
/// is the same for all nets.
template <class Rule, class Real = float>
concept UpdatesByElement = (detail::element_program<Rule, Real>.nodes > 0);

}  // namespace gradual
