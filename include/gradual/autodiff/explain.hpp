#pragma once
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <gradual/autodiff/flops.hpp>

namespace gradual {

namespace detail {

/// Finds out from a program's graph and schedule what its kernels compute and move.
template <class P>
class Explainer {
  static constexpr const auto& graph = P::graph;
  static constexpr const auto& schedule = P::schedule;

 public:
  static std::string text() {
    static constexpr const char* phases[] = {"once a window", "forward", "backward", "at the end"};
    std::string out = line("kernel", "phase", "computes", "layer", "FLOP", "bytes", "saved");
    Facts all;
    for (int g = 0; g < schedule.group_count; ++g) {
      const Facts facts = of(g);
      all.add(facts);
      out += line(std::to_string(g), phases[static_cast<int>(schedule.groups[g].phase)], names(g), layer(g),
                  number(facts.flops), number(facts.bytes), number(facts.saved));
    }
    return out + line("", "", "for each sample", "", number(all.flops), number(all.bytes), number(all.saved));
  }

 private:
  struct Facts {
    std::int64_t flops = 0, bytes = 0, saved = 0;
    void add(const Facts& other) { flops += other.flops, bytes += other.bytes, saved += other.saved; }
  };

  static Facts of(int g) {
    Facts facts;
    std::vector<std::int64_t> moved(P::nodes);  // bytes of stored values, each element counted once
    std::vector<char> read(P::nodes);
    const auto move = [&](int node, std::int64_t part) {
      const int s = schedule.storage[node];
      if (s >= 0 && graph.nodes[s].shape.batched()) moved[s] = std::min(bytes(s), moved[s] + part);
    };
    for (int m = 0; m < schedule.groups[g].count; ++m) {
      const int id = schedule.members[schedule.groups[g].first + m];
      const Node& node = graph.nodes[id];
      if (!schedule.is_inside_join(id)) facts.flops += flops_of(graph.nodes, id);
      if (schedule.storage[id] == id) {
        move(id, bytes(id));
        if (schedule.groups[g].phase == Phase::forward && read_in_backward(id)) facts.saved += bytes(id);
      }
      for_operands(node, [&](int in) {
        const int operand = behind(graph.nodes, in), source = behind_views(operand);
        if (from_register(source, g) || std::exchange(read[operand], 1) != 0) return;
        move(source, bytes(is<Slice>(node) ? id : is<Slice>(graph.nodes[operand]) ? operand : source));
      });
    }
    for (const std::int64_t part : moved) facts.bytes += part;
    return facts;
  }

  static std::int64_t bytes(int node) {
    return graph.nodes[node].shape.unit() * size_of(graph.nodes[node].dtype);
  }
  /// Calls f(operand) for every value that a node reads; for a sum over the batch, for each value whose rows it reads.
  template <class F>
  static void for_operands(const Node& node, F f) {
    for (int k = 0; k < node.op->arity; ++k)
      for (int u = 0; u < count_of_uses(graph.nodes, node.in[k]); ++u) f(use_of(graph.nodes, node.in[k], u));
  }
  /// Returns the node whose memory an operand is read from, through reshapes and views.
  static int behind_views(int node) {
    while (schedule.group_of[node] < 0 && graph.nodes[node].op->arity == 1) node = graph.nodes[node].in[0];
    return node;
  }
  static bool from_register(int node, int g) {
    const Kind kind = graph.nodes[node].op->kind;
    return schedule.group_of[node] == g && kind != Kind::row_reduce && kind != Kind::batch_reduce;
  }
  static bool read_in_backward(int id) {
    bool read = false;
    for (int i = 0; i < P::nodes && !read; ++i)
      if (schedule.group_of[i] >= 0 && schedule.phase[i] == Phase::backward)
        for_operands(graph.nodes[i], [&](int in) { read = read || schedule.storage[behind_views(in)] == id; });
    return read;
  }

  static std::string names(int g) {
    constexpr int most = 5;
    std::string text;
    const Group& group = schedule.groups[g];
    for (int m = 0; m < group.count && m < most; ++m)
      text.append(m > 0 ? " " : "").append(graph.nodes[schedule.members[group.first + m]].op->name);
    return group.count > most ? text + " +" + std::to_string(group.count - most) : text;
  }
  /// Returns the layer of the first member that has one.
  static std::string layer(int g) {
    std::string_view name;
    const Group& group = schedule.groups[g];
    for (int m = 0; m < group.count && name.empty(); ++m)
      name = layer_name(graph.nodes[schedule.members[group.first + m]], graph.parameters);
    return std::string(name);
  }
  static std::string number(std::int64_t n) { return n == 0 ? "" : std::to_string(n); }
  static std::string line(const std::string& kernel, const char* phase, const std::string& computes, const std::string& layer,
                          const std::string& flops, const std::string& bytes, const std::string& saved) {
    char text[200];
    std::snprintf(text, sizeof(text), "%6s  %-13s  %-46.46s  %-12.12s %10s %10s %10s\n", kernel.c_str(), phase,
                  computes.c_str(), layer.c_str(), flops.c_str(), bytes.c_str(), saved.c_str());
    std::string line = text;
    line.erase(line.find_last_not_of(" \n") + 1);
    return line + "\n";
  }
};

}  // namespace detail

/// Returns a table of the kernels of a net's training step: what each computes in one pass and, per sample, its
/// floating-point operations, the bytes that it reads and writes, and those of them that stay until backward reads
/// them. Values of parameters alone are moved once for all samples and not counted. For a device that can run all kernels
/// in one launch, the table says for how many samples.
template <class Net>
std::string explain() {
  using P = typename Net::Training;
  std::string text = detail::Explainer<P>::text();
  if constexpr (requires { Net::Backend::template samples_in_one_launch<P>(); })
    if constexpr (constexpr std::int64_t most = Net::Backend::template samples_in_one_launch<P>(); most > 0)
      text +=
          "one launch computes micro-batches of up to " + std::to_string(most) + " samples, from forward to backward\n";
  return text;
}

/// Does the same for what an `Inference` runs: of a net whose model has no `loss`, or of a `Drawing`, too.
template <class Net>
std::string explain_prediction() {
  return detail::Explainer<typename Net::Prediction>::text();
}

}  // namespace gradual
