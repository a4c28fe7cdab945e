#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <gradual/autodiff/cpu/backend.hpp>
#include <gradual/autodiff/program.hpp>
#include <gradual/eager/device.hpp>
#include <gradual/optim/by_parameter.hpp>
#include <gradual/optim/elementwise.hpp>
#include <gradual/optim/in_place.hpp>
#include <gradual/optim/scalars_of.hpp>
#include <gradual/optim/trace_update.hpp>

namespace gradual {

namespace detail {

/// An elementwise update with an element for a sample: the program need not know how many there are. Numbers come first.
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

/// Whether each root is computed, by itself, from ops that kernels know, or is the input that it replaces.
template <class Rule>
constexpr bool has_kernels(const Tape& tape) {
  bool result = tape.error.empty();
  for (const Node& node : tape.nodes)
    result = result && (node.op->kind != Kind::map || index_in(OpsFor<Rule>{}, *node.op) >= 0);
  for (const Root& root : tape.roots) {
    const Node& node = tape[root.node];
    result =
        result && (node.op->kind == Kind::map || (node.op->kind == Kind::input && node.attributes.integer[0] == root.index));
    for (const Root& other : tape.roots) result = result && (other.node != root.node || other.index == root.index);
  }
  return result;
}

template <class Rule>
constexpr bool suits_elements() {
  const Tape tape = trace_update(Rule{}, 1);
  return is_elementwise(tape) && has_kernels<Rule>(tape);
}

}  // namespace detail

/// Rules that the compiler can trace, and which look at each element alone: `ElementwiseUpdate` runs them.
template <class Rule>
concept UpdatesByElement = requires { typename std::bool_constant<detail::suits_elements<Rule>()>; } &&
                           detail::suits_elements<Rule>() && updates_in_place<Program<detail::ElementTrace<Rule, float>>>();

/// An update rule compiled for any number of elements: a fused loop over the arrays that it replaces.
template <UpdatesByElement Rule, class Real = float>
class ElementwiseUpdate {
  using P = Program<detail::ElementTrace<Rule, Real>>;

 public:
  /// Nothing where the rule, of which `tape` is a trace, records something else with its numbers than by default. Errors:
  /// MemoryError.
  static std::optional<ElementwiseUpdate> of(const Device& device, const Tape& tape, std::int64_t elements) {
    if (!detail::is_elementwise(tape)) return {};
    std::optional<std::vector<Scalar>> scalars = find_scalars(P::tables, detail::with_elements_as_samples(tape));
    if (!scalars) return {};
    return ElementwiseUpdate(device, std::move(*scalars), elements);
  }

  const std::vector<Scalar>& scalars() const { return scalars_; }

  /// `numbers`: the scalars, by slot; `arrays`: where the parameters, their gradient and the states lie.
  void run(const Cpu::Queue& queue, const Real* numbers, Real* const* arrays) {
    for (int i = 0; i < P::nodes; ++i) {
      const Node& node = P::graph.nodes[i];
      if (node.op->kind != Kind::input) continue;
      const std::int64_t which = node.attributes.integer[0];
      address_[i] = is_input(node, Input::scalar) ? const_cast<Real*>(numbers) + which : arrays[which];
    }
    for (int r = 0; r < P::graph.counts.roots; ++r)
      address_[P::schedule.storage[P::graph.roots[r].node]] = arrays[P::graph.roots[r].index];
    StepArguments a;
    a.address = address_;
    a.batch = elements_;
    queue.run(Cpu::kernels_of<P>, Phase::prologue, a);
    queue.run(Cpu::kernels_of<P>, Phase::forward, a);
  }

 private:
  ElementwiseUpdate(const Device& device, std::vector<Scalar> scalars, std::int64_t elements)
      : scalars_(std::move(scalars)), elements_(elements),
        memory_(device.allocate(P::plan.bytes(elements) + P::nodes * std::int64_t{sizeof(double)}, Category::workspace)) {
    std::int64_t offset[P::nodes]{};
    std::byte* const numbers = memory_.data() + P::plan.offsets(elements, offset);
    for (int i = 0; i < P::nodes; ++i)
      if (const int life = P::plan.lifetime_of[i]; life >= 0) address_[i] = memory_.data() + offset[life];
      else address_[i] = numbers + i * std::int64_t{sizeof(double)};  // what is made of numbers alone
  }

  std::vector<Scalar> scalars_;
  std::int64_t elements_;
  eager::Storage memory_;
  void* address_[P::nodes]{};
};

}  // namespace gradual
