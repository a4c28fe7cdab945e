#pragma once
#include <string_view>

#include <gradual/core/error.hpp>
#include <gradual/train/memory.hpp>

namespace gradual::detail {

/// A text that is made without allocating.
using MemoryMessage = FixedText<2000>;

/// Keeps the five largest buffers of those that it is shown.
class LargestBuffers {
 public:
  static constexpr int most = 5;

  [[gnu::cold]] void add(std::int64_t bytes, const Message& what) {
    if (bytes <= 0 || (count_ == most && bytes <= bytes_[most - 1])) return;
    int at = count_ < most ? count_++ : most - 1;
    for (; at > 0 && bytes_[at - 1] < bytes; --at) bytes_[at] = bytes_[at - 1], what_[at] = what_[at - 1];
    bytes_[at] = bytes;
    what_[at] = what;
  }
  void print(MemoryMessage& out) const {
    for (int i = 0; i < count_; ++i) out << "\n  " << bytes_[i] << " B: " << what_[i].view();
  }

 private:
  int count_ = 0;
  std::int64_t bytes_[most]{};
  Message what_[most]{};
};

/// "matmul in layer 'hidden'", or what is sent back through it.
[[gnu::cold]] inline Message name_of(const Node& node, bool adjoint, const ParameterInfo* parameters) {
  Message text;
  text << (adjoint ? "backward's " : "") << node.op->name;
  const std::string_view layer = layer_name(node, parameters);
  return layer.empty() ? text : text << " in layer '" << layer << "'";
}

/// Of what a training layout holds; `gather`: also of its inputs.
template <class Layout>
[[gnu::cold]] LargestBuffers largest_buffers(const Layout& layout, bool gather) {
  using P = typename Layout::Training;
  LargestBuffers result;
  const auto& graph = P::graph;
  for (int p = 0; p < graph.counts.parameters; ++p) {
    const std::int64_t bytes = graph.parameters[p].shape.unit() * Layout::element_bytes(0);
    const std::string_view name = graph.parameters[p].name.view();
    result.add(bytes, Message() << "parameter '" << name << "'");
    result.add(graph.parameters[p].shape.unit() * Layout::element_bytes(1), Message() << "gradient of '" << name << "'");
    std::int64_t state = 0;
    for (int s = 0; s < Layout::states; ++s) state += Layout::part_elements(2 + s, p) * Layout::element_bytes(2 + s);
    result.add(state, Message() << "optimizer state of '" << name << "'");
  }
  bool seen[Layout::nodes + 1]{};
  for (int i = 0; i < Layout::nodes; ++i) {
    const Message name = name_of(graph.nodes[i], i >= graph.first_adjoint, graph.parameters);
    if (Layout::needs_shadow(i)) result.add(Layout::node_bytes(i), Message() << "window's sum of " << name.view());
    if (layout.needs_open(i)) result.add(Layout::open_bytes(i), Message() << "open block of " << name.view());
    if (Layout::is_derived(i)) result.add(Layout::node_bytes(i), Message() << "made once per window: " << name.view());
    const int life = P::plan.lifetime_of[i];
    if (life >= 0 && !seen[life]) result.add(P::plan.lifetimes[life].bytes(layout.choice().micro_batch), name);
    if (life >= 0) seen[life] = true;
  }
  if (gather)
    for (int i = 0; i < graph.counts.inputs; ++i)
      result.add(layout.input_bytes(i) * layout.places, Message() << "input " << i);
  return result;
}

}  // namespace gradual::detail
