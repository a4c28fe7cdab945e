#pragma once
#include <array>

#include <gradual/autodiff/model_error.hpp>
#include <gradual/autodiff/plan.hpp>
#include <gradual/autodiff/program_tables.hpp>
#include <gradual/autodiff/recompute.hpp>
#include <gradual/autodiff/shadow.hpp>
#include <gradual/autodiff/simplified_trace.hpp>
#include <gradual/autodiff/trace.hpp>

namespace gradual {

namespace detail {
/// Returns an error that names an op which kernels do not know, or an empty message.
template <class Ops, Counts C>
constexpr Message find_unknown_op(const Graph<C>& graph) {
  for (int i = 0; i < C.nodes; ++i) {
    const OpInfo& op = *graph.nodes[i].op;
    if ((op.kind == Kind::map || op.kind == Kind::row_reduce) && index_in(Ops{}, op) < 0)
      return Message() << "op '" << op.name << "' is not in the library: declare it in the model, `using Ops = OpList<...>`";
  }
  return {};
}

/// Returns an error that names a value whose samples lie inside another axis, or an empty message: strides in kernels are
/// constants, and that axis's stride would depend on the batch.
template <Counts C>
constexpr Message find_inner_samples(const Graph<C>& graph) {
  for (int i = 0; i < C.nodes; ++i) {
    const Shape& shape = graph.nodes[i].shape;
    if (shape.batched() && shape.product(0, shape.batch_axis) != 1)
      return Message() << graph.nodes[i].op->name << ": the sample axis of " << shape
                       << " is not outermost, which only eager tapes can run";
  }
  return {};
}

/// The trace that a program is made from: `Trace::KeepingAll`, if there is one.
template <class Trace>
struct TraceKeepingAll {
  using type = Trace;
};
template <class Trace>
  requires requires { typename Trace::KeepingAll; }
struct TraceKeepingAll<Trace> {
  using type = typename Trace::KeepingAll;
};
}  // namespace detail

/// A finished program: traced, simplified, fused and planned in steps, so that no step exceeds a compiler's limit on
/// constant evaluation. `Trace::tape()` records it, and `Trace::Ops` are the ops that its kernels may call. If there is a
/// `Trace::kept`, at most that many percent of what backward reads is in memory at once (`recompute`); if there is a
/// `Trace::KeepingAll`, it records the same tape, and programs of all shares are made from that one. `Trace::Shadow` is the
/// type that sums are held in, float if there is none.
template <class Trace>
struct Program {
  using Ops = typename Trace::Ops;
  using Shadow = typename detail::ShadowIn<Trace>::type;

 private:
  static constexpr int kept = [] {
    if constexpr (requires { Trace::kept; }) return Trace::kept;
    else return 100;
  }();
  using Whole = detail::SimplifiedTrace<typename detail::TraceKeepingAll<Trace>::type>;
  static constexpr detail::TapeInRoom saving{recompute(thaw(Whole::graph), kept)};  // made only for programs that save less
  static constexpr auto saving_graph() {
    if constexpr (kept == 100) return Whole::graph;
    else if constexpr (saving.counts.within(detail::TapeInRoom::room)) return freeze<saving.counts>(saving.graph);
    else return freeze<saving.counts>(recompute(thaw(Whole::graph), kept));
  }

 public:
  /// The tape as it was recorded, before it is simplified.
  static constexpr Tape trace() { return Trace::tape(); }
  static constexpr auto graph = saving_graph();

 private:
  static constexpr Counts counts = graph.counts;
  static constexpr Message unknown_op = detail::find_unknown_op<Ops>(graph);
  static_assert(unknown_op.empty() || model_error<unknown_op>());
  static constexpr Message inner_samples = detail::find_inner_samples(graph);
  static_assert(inner_samples.empty() || model_error<inner_samples>());

 public:
  static constexpr auto schedule = fuse(graph);

 private:
  static constexpr auto lifetimes = find_lifetimes(graph, schedule);
  template <int K>
  static constexpr auto layout = find_layout(lifetimes, reference_batches[K]);

 public:
  static constexpr TransientPlan<counts.nodes> plan{lifetimes, {layout<0>, layout<1>, layout<2>}};
  static constexpr int nodes = counts.nodes;

  /// The node of each sample input; −1 where nothing reads it.
  static constexpr auto input_nodes = [] {
    std::array<int, counts.inputs> nodes_of{};
    nodes_of.fill(-1);
    for (int i = 0; i < counts.nodes; ++i)
      if (is_input(graph.nodes[i], Input::sample))
        nodes_of[static_cast<std::size_t>(graph.nodes[i].attributes.integer[0])] = i;
    return nodes_of;
  }();

  // One at a time, for kernels: nvcc copies a whole constant for each access to a part of it.
  template <int Id>
  static constexpr Node node = graph.nodes[Id];
  template <int Id>
  static constexpr int storage = schedule.storage[Id];
  template <int G>
  static constexpr Group group = schedule.groups[G];
  /// The first node of a kernel group; its only one unless the group is a loop.
  template <int G>
  static constexpr int first_of = schedule.members[group<G>.first];

  /// Returns the node of a root, or −1 where the program has no such root.
  static constexpr int root(Role role, int index = 0) {
    return find_root(table_of(graph.roots, counts.roots), role, index);
  }
  static constexpr int count_of(Role role) { return count_roots(table_of(graph.roots, counts.roots), role); }

  static constexpr ProgramTables tables{table_of(graph.nodes, counts.nodes),
                                        table_of(graph.parameters, counts.parameters),
                                        table_of(graph.inputs, counts.inputs),
                                        table_of(graph.roots, counts.roots),
                                        input_nodes,
                                        graph.first_adjoint,
                                        schedule.storage,
                                        schedule.phase,
                                        schedule.group_of,
                                        schedule.group_count,
                                        plan.tables(),
                                        [](std::int64_t batch) { return plan.bytes(batch); }};
};

}  // namespace gradual
