#pragma once
#include <iterator>

#include <gradual/autodiff/tape.hpp>
#include <gradual/core/at_least_one.hpp>

namespace gradual {

/// The sizes of a graph's arrays: known first, so that the graph itself can be a constant of the right size.
struct Counts {
  int nodes = 0, parameters = 0, inputs = 0, roots = 0, label_ranges = 0;

  constexpr bool within(const Counts& room) const {
    return nodes <= room.nodes && parameters <= room.parameters && inputs <= room.inputs && roots <= room.roots &&
           label_ranges <= room.label_ranges;
  }
};
constexpr Counts count(const Tape& tape) {
  return {tape.size(), static_cast<int>(tape.parameters.size()), static_cast<int>(tape.inputs.size()),
          static_cast<int>(tape.roots.size()), static_cast<int>(tape.label_ranges.size())};
}

/// A finished tape in plain arrays, which a constant can hold.
template <Counts C>
struct Graph {
  static constexpr Counts counts = C;
  AtLeastOne<Node, C.nodes> nodes{};
  AtLeastOne<ParameterInfo, C.parameters> parameters{};
  AtLeastOne<InputInfo, C.inputs> inputs{};
  AtLeastOne<Root, C.roots> roots{};
  AtLeastOne<LabelRange, C.label_ranges> label_ranges{};
  int first_adjoint = 0;
};

/// Returns the name of the layer that recorded a node: the scope of one of its parameters; empty if there is none.
constexpr std::string_view layer_name(const Node& node, const ParameterInfo* parameters) {
  return node.layer < 0 ? std::string_view() : parameters[node.layer].layer();
}

/// Copies a tape, or a graph of another size, to a graph of size C, as far as that has room.
template <Counts C, class From>
constexpr Graph<C> freeze(const From& from) {
  const auto copy = [](const auto& values, auto* to, int room) {
    const int there = static_cast<int>(std::size(values));
    for (int i = 0; i < room && i < there; ++i) to[i] = values[static_cast<std::size_t>(i)];
  };
  Graph<C> graph;
  copy(from.nodes, graph.nodes, C.nodes);
  copy(from.parameters, graph.parameters, C.parameters);
  copy(from.inputs, graph.inputs, C.inputs);
  copy(from.roots, graph.roots, C.roots);
  copy(from.label_ranges, graph.label_ranges, C.label_ranges);
  graph.first_adjoint = from.first_adjoint;
  return graph;
}

template <Counts C>
constexpr Tape thaw(const Graph<C>& graph) {
  Tape tape;
  tape.nodes.assign(graph.nodes, graph.nodes + C.nodes);
  tape.parameters.assign(graph.parameters, graph.parameters + C.parameters);
  tape.inputs.assign(graph.inputs, graph.inputs + C.inputs);
  tape.roots.assign(graph.roots, graph.roots + C.roots);
  tape.label_ranges.assign(graph.label_ranges, graph.label_ranges + C.label_ranges);
  tape.first_adjoint = graph.first_adjoint;
  return tape;
}

}  // namespace gradual
