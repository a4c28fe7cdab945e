#pragma once
#include <gradual/core/budget.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/system_memory.hpp>
#include <gradual/train/memory.hpp>

namespace gradual {

namespace detail {

/// A text that is made without allocating.
using MemoryMessage = FixedText<2000>;

/// Keeps the five largest buffers of those that it is shown.
class LargestBuffers {
 public:
  static constexpr int most = 5;

  void add(std::int64_t bytes, const Message& what) {
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
inline Message name_of(const Node& node, bool adjoint, const ParameterInfo* parameters) {
  Message text;
  text << (adjoint ? "backward's " : "") << node.op->name;
  const std::string_view layer = layer_name(node, parameters);
  return layer.empty() ? text : text << " in layer '" << layer << "'";
}

template <class Layout>
LargestBuffers largest_buffers(const Layout& layout, bool gather) {
  using P = typename Layout::Training;
  LargestBuffers result;
  const auto& graph = P::graph;
  for (int p = 0; p < graph.counts.parameters; ++p) {
    const std::int64_t bytes = graph.parameters[p].shape.unit() * 4;
    const std::string_view name = graph.parameters[p].name.view();
    result.add(bytes, Message() << "parameter '" << name << "'");
    result.add(graph.parameters[p].shape.unit() * Layout::element_bytes(1), Message() << "gradient of '" << name << "'");
    std::int64_t state = 0;
    for (int s = 0; s < Layout::states; ++s) state += Layout::part_elements(2 + s, p) * 4;
    result.add(state, Message() << "optimizer state of '" << name << "'");
  }
  bool seen[Layout::nodes + 1]{};
  for (int i = 0; i < Layout::nodes; ++i) {
    const Message name = name_of(graph.nodes[i], i >= graph.first_adjoint, graph.parameters);
    if (Layout::needs_shadow(i)) result.add(Layout::node_bytes(i), Message() << "window's sum of " << name.view());
    if (layout.needs_open(i)) result.add(Layout::open_bytes(i), Message() << "open block of " << name.view());
    if (Layout::is_derived(i)) result.add(Layout::node_bytes(i), Message() << "made once per window: " << name.view());
    const int life = P::plan.lifetime_of[i];
    if (life >= 0 && !seen[life]) result.add(P::plan.lifetimes[life].bytes(layout.micro_batch()), name);
    if (life >= 0) seen[life] = true;
  }
  if (gather)
    for (int i = 0; i < graph.counts.inputs; ++i) result.add(layout.input_bytes(i), Message() << "input " << i);
  const MemoryTable table = layout.table(gather);
  result.add(table.workspace, Message() << "workspace of kernels");
  result.add(table.update, Message() << "temporaries of the update");
  return result;
}

}  // namespace detail

/// Says why a plan does not fit a budget: what is needed and given, the largest micro-batch that would fit (`fitting`;
/// 0 where none does), the five largest buffers by the names of layers, and what each remedy would save.
template <class Layout>
[[gnu::cold, gnu::noinline]] detail::MemoryMessage explain_memory(const Layout& layout, bool gather,
                                                                  std::int64_t frozen, Budget budget,
                                                                  std::int64_t fitting) {
  const MemoryTable table = layout.table(gather, frozen);
  detail::MemoryMessage text;
  text << "training needs " << table.total() << " B for " << layout.micro_batch()
       << (layout.micro_batch() == 1 ? " sample" : " samples") << " at a time, the budget is " << budget.bytes
       << " B; ";
  if (fitting > 0)
    text << "micro-batches of " << fitting << " would fit";
  else
    text << "no smaller micro-batch fits";
  if (const SystemMemory system = system_memory(); system.capacity > 0)
    text << "; this machine has " << system.capacity << " B, of which others hold " << system.others << " and "
         << system.free << " are free";
  text << "\nlargest buffers:";
  detail::largest_buffers(layout, gather).print(text);
  text << "\nwhat would help:";
  const auto remedy = [&](std::int64_t saved) -> detail::MemoryMessage& {
    return text << "\n  " << saved << " B less: ";
  };
  if (fitting > 0)
    remedy(table.total() - layout.with_micro_batch(fitting).table(gather, frozen).total())
        << "micro-batches of " << fitting;
  if (layout.keeps_open_blocks())
    remedy(table.open_blocks - layout.without_open_blocks().table().open_blocks)
        << "micro-batches of whole blocks of " << Layout::block_samples() << " samples, by OpenBlocks::as_needed";
  if (table.optimizer_state == Layout::arena * Layout::states && Layout::states > 0)
    remedy(table.optimizer_state) << "an optimizer without state (" << Layout::states << " of " << Layout::arena << " B each)";
  else if (table.optimizer_state > 0)
    remedy(table.optimizer_state) << "an optimizer without state";
  if (sizeof(typename Layout::Shadow) > sizeof(float))
    remedy(table.gradients - Layout::sum_bytes(sizeof(float))) << "sums in float";
  if (table.undo > 0) remedy(table.undo) << "windows that are dropped whole, by NonFinite::drop_window";
  if (table.noise > 0) remedy(table.noise) << "windows whose noise is not measured";
  if (layout.threads() > 1) remedy(table.workspace / layout.threads() * (layout.threads() - 1)) << "one thread";
  if (table.inputs > 0) remedy(table.inputs) << "samples read where they lie, by a session's accumulate";
  return text;
}

/// Errors: MemoryError, always.
template <class Layout>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_budget(const Layout& layout, bool gather, std::int64_t frozen,
                                                          Budget budget, std::int64_t fitting) {
  throw MemoryError(explain_memory(layout, gather, frozen, budget, fitting).view());
}

}  // namespace gradual
