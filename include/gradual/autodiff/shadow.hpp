#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>
#include <gradual/core/compensated.hpp>

// The types that hold the sums of a window, to which blocks of floats are added: float, double or two numbers (Compensated).

namespace gradual {

namespace detail {

/// The type of a complete sum, and the name of the type that it was held in.
template <class S>
struct ShadowTraits;
template <>
struct ShadowTraits<float> {
  using Sum = float;
  static constexpr const char* name = "float";
};
template <>
struct ShadowTraits<double> {
  using Sum = double;
  static constexpr const char* name = "double";
};
template <class Part>
  requires(std::is_same_v<Part, float> || std::is_same_v<Part, bf16> || std::is_same_v<Part, f16>)
struct ShadowTraits<Compensated<Part>> {
  using Sum = typename Compensated<Part>::Value;
  static constexpr const char* name = std::is_same_v<Part, float>  ? "compensated"
                                      : std::is_same_v<Part, bf16> ? "compensated bf16"
                                                                   : "compensated f16";
};

}  // namespace detail

template <class S>
concept ShadowType = requires { detail::ShadowTraits<S>::name; };

/// Whether sums are held in two numbers each, from which one is made, in place, when the window ends.
template <class S>
inline constexpr bool is_compensated = !std::is_floating_point_v<S>;

/// The type that the rest of backward and the optimizer compute in once a window's sums are complete: it holds each exactly.
template <ShadowType S>
using SumOf = typename detail::ShadowTraits<S>::Sum;

template <ShadowType S>
inline constexpr const char* shadow_name = detail::ShadowTraits<S>::name;

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

/// The type that node `Id` of program P is held in: `Block`, the type of its operands, or the program's type of sums if it is a
/// sum of floats over samples.
template <class P, int Id, class Block>
using AccumulatorOf = std::conditional_t<is_sample_sum(P::template node<Id>.op->kind) && std::is_same_v<Block, float>,
                                         typename detail::ShadowIn<P>::type, Block>;

/// Returns the tape of a training step with sums wider than their terms: sums over samples, the window's weight and everything
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
    if (found < 0) found = computed_in(tape[to].dtype) == DType::f32 ? convert({&tape, to}, DType::f64).id : to;
    return found;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (static_cast<int>(i) == first_adjoint) tape.first_adjoint = tape.size();
    Node node = nodes[i];
    const bool is_weight = is_input(node, Input::scalar) && node.attributes.integer[0] != loss_scale_slot;
    bool widens = false;
    for (int k = 0; k < node.op->arity; ++k)
      widens = widens || tape[moved[static_cast<std::size_t>(node.in[k])]].dtype == DType::f64;
    if ((is_sample_sum(node.op->kind) || is_weight || widens) && computed_in(node.dtype) == DType::f32) node.dtype = DType::f64;
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
