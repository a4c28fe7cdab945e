#pragma once
#include <array>
#include <utility>

#include <gradual/autodiff/plan.hpp>
#include <gradual/autodiff/program_tables.hpp>
#include <gradual/autodiff/recompute.hpp>
#include <gradual/autodiff/shadow.hpp>
#include <gradual/autodiff/simplify.hpp>
#include <gradual/autodiff/trace.hpp>

namespace gradual {

/// Reports a model that could not be traced: the message is part of the type, which compilers print.
#if defined(__clang__)  // which prints arrays as numbers, and characters as such
template <char... text>
struct CharactersOfModelError {
  static_assert(sizeof...(text) == 0, "the model cannot be compiled: the reason is spelled by the characters of the class");
};
template <Message Text>
constexpr bool model_error() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return sizeof(CharactersOfModelError<Text.text[I]...>) == 0;
  }(std::make_integer_sequence<int, Text.length>{});
}
#else
template <Message Text>
constexpr bool model_error() {
  static_assert(Text.empty(), "the model cannot be compiled: the reason is the argument of model_error");
  return false;
}
#endif

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

/// A trace as far as there is room: a constant's size must be known before what it holds, so only a larger trace has to be
/// recorded twice.
struct Recorded {
  static constexpr Counts room{512, 64, 16, 64, 16};
  Message error;
  Counts counts;
  Graph<room> graph;
};
template <class Trace>
constexpr Recorded record() {
  const Tape tape = Trace::tape();
  return {tape.error, count(tape), freeze<Recorded::room>(tape)};
}
template <int>
struct Known {};
/// Whether the compiler can record a trace.
template <class Trace>
concept Recordable = requires { typename Known<record<Trace>().counts.nodes>; };
/// Whether a trace is recordable; if not, makes the compiler say why, once.
template <class Trace>
constexpr bool recordable_or_why() {
  if constexpr (!Recordable<Trace>) {
    [[maybe_unused]] constexpr Recorded recorded = record<Trace>();
  }
  return Recordable<Trace>;
}
}  // namespace detail

/// A finished program: traced, simplified, fused and planned in steps, so that no step exceeds a compiler's limit on
/// constant evaluation. `Trace::tape()` records it, and `Trace::Ops` are the ops that its kernels may call. If there is a
/// `Trace::kept`, at most that many percent of what backward reads is in memory at once (`recompute`). `Trace::Shadow` is the
/// type that sums are held in, float if there is none.
template <class Trace>
struct Program {
  using Ops = typename Trace::Ops;
  using Shadow = typename detail::ShadowIn<Trace>::type;

 private:
  static constexpr bool recordable = detail::Recordable<Trace>;
  static_assert(detail::recordable_or_why<Trace>(), "models and update rules must be constexpr, within the compiler's limits");
  static constexpr detail::Recorded recorded = [] {
    if constexpr (recordable) return detail::record<Trace>();
    else return detail::Recorded{};
  }();
  static constexpr Message error = recorded.error;
  static_assert(error.empty() || model_error<error>());
  static constexpr Counts traced = recorded.counts;
  static constexpr auto traced_graph = [] {
    if constexpr (traced.within(detail::Recorded::room)) return freeze<traced>(recorded.graph);
    else return freeze<traced>(Trace::tape());
  }();
  // The model is simplified into a graph of the traced size: how much smaller it gets is not known before.
  struct Simplified {
    Counts counts;
    Graph<traced> graph;
  };
  static constexpr Simplified simplified = [] {
    const Tape tape = simplify(thaw(traced_graph));
    return Simplified{count(tape), freeze<traced>(tape)};
  }();
  static constexpr auto simple_graph = freeze<simplified.counts>(simplified.graph);
  static constexpr int kept = [] {
    if constexpr (requires { Trace::kept; }) return Trace::kept;
    else return 100;
  }();
  static constexpr Counts counts = [] {
    if constexpr (kept == 100) return simplified.counts;
    else return count(recompute(thaw(simple_graph), kept));
  }();

  static constexpr auto saving_graph() {
    if constexpr (kept == 100) return simple_graph;
    else return freeze<counts>(recompute(thaw(simple_graph), kept));
  }

 public:
  /// The tape as it was recorded, before it is simplified.
  static constexpr Tape trace() { return Trace::tape(); }
  static constexpr auto graph = saving_graph();

 private:
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
