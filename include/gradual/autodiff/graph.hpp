#pragma once
#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// How many of each a graph holds: known first, so that the graph itself can be a constant of the right size.
struct Counts {
  int nodes = 0, parameters = 0, inputs = 0, roots = 0;
};
constexpr Counts count(const Tape& tape) {
  return {tape.size(), static_cast<int>(tape.parameters.size()), static_cast<int>(tape.inputs.size()),
          static_cast<int>(tape.roots.size())};
}

/// A finished tape in plain arrays: what a constant expression can keep.
template <Counts C>
struct Graph {
  static constexpr Counts counts = C;
  Node nodes[C.nodes > 0 ? C.nodes : 1]{};
  ParameterInfo parameters[C.parameters > 0 ? C.parameters : 1]{};
  InputInfo inputs[C.inputs > 0 ? C.inputs : 1]{};
  Root roots[C.roots > 0 ? C.roots : 1]{};
  int first_adjoint = 0;
};

/// The name of the layer that recorded a node: the scope of a parameter of its; empty where there is none.
constexpr std::string_view layer_name(const Node& node, const ParameterInfo* parameters) {
  if (node.layer < 0) return {};
  const std::string_view parameter = parameters[node.layer].name.view();
  return parameter.substr(0, parameter.rfind('/') == parameter.npos ? parameter.size() : parameter.rfind('/'));
}

template <Counts C>
constexpr Graph<C> freeze(const Tape& tape) {
  Graph<C> graph;
  for (int i = 0; i < C.nodes; ++i) graph.nodes[i] = tape[i];
  for (int i = 0; i < C.parameters; ++i) graph.parameters[i] = tape.parameters[static_cast<std::size_t>(i)];
  for (int i = 0; i < C.inputs; ++i) graph.inputs[i] = tape.inputs[static_cast<std::size_t>(i)];
  for (int i = 0; i < C.roots; ++i) graph.roots[i] = tape.roots[static_cast<std::size_t>(i)];
  graph.first_adjoint = tape.first_adjoint;
  return graph;
}

template <Counts C>
constexpr Tape thaw(const Graph<C>& graph) {
  Tape tape;
  tape.nodes.assign(graph.nodes, graph.nodes + C.nodes);
  tape.parameters.assign(graph.parameters, graph.parameters + C.parameters);
  tape.inputs.assign(graph.inputs, graph.inputs + C.inputs);
  tape.roots.assign(graph.roots, graph.roots + C.roots);
  tape.first_adjoint = graph.first_adjoint;
  return tape;
}

}  // namespace gradual
