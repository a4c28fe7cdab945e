#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gradual/autodiff/repeats.hpp>
#include <gradual/train/session_layout.hpp>

namespace gradual::detail {

/// The contents of a piece of the transient block, which decide its colour.
enum class Holds : unsigned char { inputs, kept, forward, repeated, backward, update, workspace };

/// One piece of the transient block: alive in kernels `begin` to `end`, at `offset`.
struct TimelineBar {
  Holds holds{};
  int begin = 0, end = 0;
  std::int64_t offset = 0, bytes = 0;
  std::string layer, name;
};

/// The kernels of a step, training's and then the update's, and the contents of memory while they run.
struct Timeline {
  struct Kernel {
    std::string name;
    const char* phase;
  };
  std::vector<Kernel> kernels;
  std::vector<TimelineBar> bars;
  MemoryTable table;
  std::int64_t batch = 0, lower_bound = 0;  ///< the bound: of activations and temporaries

  template <class Net, class Rule, class S>
  static Timeline of(const TrainingLayout<Net, Rule, S>& layout, bool gather, std::int64_t frozen) {
    using P = typename TrainingLayout<Net, Rule, S>::Training;
    Timeline t;
    t.batch = layout.choice().micro_batch;
    t.table = layout.table(gather, frozen);
    t.lower_bound = P::plan.lower_bound(t.batch);
    const std::vector<int> repeats = find_repeats(P::tables.nodes, P::graph.first_adjoint);
    const int forward_end = t.add_kernels<P>({"once a window", "forward", "backward", "window's end"}, repeats);
    t.add_bars<P>(layout.choice().micro_batch, 0, [&](int node, int end) {
      if (node < P::graph.first_adjoint) return end < forward_end ? Holds::forward : Holds::kept;
      return repeats[static_cast<std::size_t>(node)] >= 0 ? Holds::repeated : Holds::backward;
    });
    using Update = typename Net::template UpdateOf<Rule, S>;
    const int training = static_cast<int>(t.kernels.size());
    t.add_kernels<Update>({"update", "update", "update", "update"},
                          find_repeats(Update::tables.nodes, Update::graph.first_adjoint));
    t.add_bars<Update>(layout.tables().parameter_elements, training, [](int, int) { return Holds::update; });
    t.add_numbers<Update>(layout.tables().parameter_elements, training);
    const int last = static_cast<int>(t.kernels.size()) - 1;
    if (t.table.inputs > 0)
      t.bars.push_back({Holds::inputs, 0, last, 0, t.table.inputs, "", "samples, copied together"});
    if (t.table.workspace > 0)
      t.bars.push_back({Holds::workspace, 0, last, t.table.transient() - t.table.workspace, t.table.workspace, "",
                        "workspace of kernels"});
    return t;
  }

 private:
  /// Returns the index of the first kernel after the forward pass.
  template <class P>
  int add_kernels(const char* const (&phases)[phase_count], const std::vector<int>& repeats) {
    int forward_end = 0;
    for (int g = 0; g < P::schedule.group_count; ++g) {
      const Group& group = P::schedule.groups[g];
      int main = P::schedule.members[group.first];
      for (int m = 0; m < group.count; ++m)  // named after the last value that it stores
        if (const int id = P::schedule.members[group.first + m]; P::schedule.storage[id] == id) main = id;
      const char* again = repeats[static_cast<std::size_t>(main)] >= 0 ? ", again" : "";
      kernels.push_back(
          {title(layer_of<P>(main), P::graph.nodes[main].op->name) + again, phases[static_cast<int>(group.phase)]});
      if (group.phase == Phase::prologue || group.phase == Phase::forward)
        forward_end = static_cast<int>(kernels.size());
    }
    return forward_end;
  }

  /// `holds(node, end)`: returns the kind of a node's value that is needed until kernel `end`.
  template <class P, class F>
  void add_bars(std::int64_t samples, int first_kernel, F holds) {
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(P::nodes) + 1);
    P::plan.offsets(samples, offsets.data());
    const int last = P::schedule.group_count - 1;
    std::vector<int> bar_of(static_cast<std::size_t>(P::nodes) + 1, -1);
    for (int i = 0; i < P::nodes; ++i) {
      const int life = P::plan.lifetime_of[i];
      if (life < 0) continue;
      int& at = bar_of[static_cast<std::size_t>(life)];
      const char* op = P::graph.nodes[i].op->name;
      if (at >= 0) {  // computed in place of an earlier value
        bars[static_cast<std::size_t>(at)].name += std::string(" → ") + op;
        continue;
      }
      at = static_cast<int>(bars.size());
      const Lifetime& l = P::plan.lifetimes[life];
      const int end = std::min(l.end, last);
      bars.push_back({holds(i, end), first_kernel + l.begin, first_kernel + end,
                      table.inputs + offsets[static_cast<std::size_t>(life)], l.bytes(samples), layer_of<P>(i), op});
    }
  }
  /// Adds what an elementwise update computes from numbers alone, placed as by `place_values_of_update`.
  template <class P>
  void add_numbers(std::int64_t elements, int first_kernel) {
    std::int64_t offset = table.inputs + P::plan.bytes(elements);
    for (int i = 0; i < P::nodes; ++i)
      if (P::tables.is_derived(i))
        bars.push_back({Holds::update, first_kernel, first_kernel + P::schedule.group_count - 1,
                        std::exchange(offset, offset + alignment), alignment, "", P::graph.nodes[i].op->name});
  }
  template <class P>
  static std::string layer_of(int node) {
    return std::string(layer_name(P::graph.nodes[node], P::graph.parameters));
  }

 public:
  static std::string title(const std::string& layer, const std::string& what) {
    return layer.empty() ? what : layer + " " + what;
  }
};

}  // namespace gradual::detail
