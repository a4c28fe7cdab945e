#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>
#include <gradual/core/compensated.hpp>

// What the sums of a window are held in: float, double or Compensated, each with room for blocks of floats.

namespace gradual {

template <class S>
concept ShadowType = std::is_same_v<S, float> || std::is_same_v<S, double> || std::is_same_v<S, Compensated>;

/// What backward's rest, and the optimizer, compute in once a window's sums are complete.
template <ShadowType S>
using SumOf = std::conditional_t<std::is_same_v<S, float>, float, double>;

template <ShadowType S>
inline constexpr const char* shadow_name = std::is_same_v<S, float>    ? "float"
                                           : std::is_same_v<S, double> ? "double"
                                                                       : "compensated";

namespace detail {

template <class P>
struct ShadowIn {
  using type = float;
};
template <class P>
  requires requires { typename P::Shadow; }
struct ShadowIn<P> {
  using type = typename P::Shadow;
};

}  // namespace detail

/// What node `Id` of program P holds: its own type or, of a cut that the program widens, the type of such sums. `Block`: the
/// type of its operands.
template <class P, int Id, class Block>
using AccumulatorOf =
    std::conditional_t<dtype_of<Block> == P::graph.nodes[Id].dtype, Block, typename detail::ShadowIn<P>::type>;

/// Ops of a program with such sums.
template <ShadowType S, class T>
using OpsWith = std::conditional_t<std::is_same_v<S, float>, OpsFor<T>, Joined<OpsFor<T>, ConversionOps>>;

/// The tape of a training step with sums that are wider than what is summed: cuts, the window's weight and all that is
/// made of them are double; other operands are converted, and so are gradients that no sample enters.
constexpr Tape widen_sums(Tape tape) {
  if (!tape.error.empty()) return tape;
  const std::vector<Node> nodes = std::move(tape.nodes);
  const int first_adjoint = tape.first_adjoint;
  std::vector<int> moved(nodes.size(), -1), widened(nodes.size(), -1);
  tape.nodes.clear();
  const auto wide = [&](int from) {
    int& found = widened[static_cast<std::size_t>(from)];
    const int to = moved[static_cast<std::size_t>(from)];
    if (found < 0) found = tape[to].dtype == DType::f32 ? convert({&tape, to}, DType::f64).id : to;
    return found;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (static_cast<int>(i) == first_adjoint) tape.first_adjoint = tape.size();
    Node node = nodes[i];
    const bool is_weight = node.op->kind == Kind::input && node.attributes.integer[1] == Input::scalar &&
                           node.attributes.integer[0] != loss_scale_slot;
    bool widens = false;
    for (int k = 0; k < node.op->arity; ++k)
      widens = widens || tape[moved[static_cast<std::size_t>(node.in[k])]].dtype == DType::f64;
    if ((is_cut(node.op->kind) || is_weight || widens) && node.dtype == DType::f32) node.dtype = DType::f64;
    for (int k = 0; k < node.op->arity; ++k)
      node.in[k] = widens ? wide(node.in[k]) : moved[static_cast<std::size_t>(node.in[k])];
    moved[i] = tape.size();
    tape.nodes.push_back(node);
  }
  for (Root& root : tape.roots)
    root.node = root.role == Role::gradient ? wide(root.node) : moved[static_cast<std::size_t>(root.node)];
  for (Tap& tap : tape.taps) tap.node = moved[static_cast<std::size_t>(tap.node)];
  tape.parameter_nodes.clear();
  return tape;
}

}  // namespace gradual
