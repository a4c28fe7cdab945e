// A thousand random graphs: derivatives by the tape against differences, also through an optimizer step, and eager
// execution against the reference, bit for bit. A graph that fails is shrunk and printed with its seed.
// GRADUAL_SEED=n runs the graphs from seed n on instead of fresh ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include <gradual/check/eager_bits.hpp>

#include "../drawn_seeds.hpp"
#include "random_graph_eagerly.hpp"
#include "random_graph_slope.hpp"

namespace random_graphs_test {

using namespace random_graph;

/// Statistics of the graphs of one run.
struct Statistics {
  std::vector<int> nodes;
  std::map<std::string, int> graphs_of;
  std::set<std::pair<std::string, std::string>> pairs;
  int derivatives = 0, undecided = 0, left_out = 0;
  std::int64_t compared = 0;

  void add(const Tape& tape, int forward) {
    std::set<std::string> names;
    nodes.push_back(forward);
    for (int i = 0; i < tape.size(); ++i) {
      const bool meets = tape[i].op->kind == Kind::batch_reduce || tape[i].op->kind == Kind::batch_contract;
      if (i < forward || meets) names.insert(tape[i].op->name);
      for (int k = 0; k < tape[i].op->arity && i < forward; ++k)
        if (tape[tape[i].in[k]].op->arity > 0) pairs.emplace(tape[tape[i].in[k]].op->name, tape[i].op->name);
    }
    for (const std::string& name : names) ++graphs_of[name];
  }
};

/// Compares a derivative along a line with differences. Returns what is wrong, or an empty text.
std::string check_slope(const char* what, const OnPaper& paper, const Recorded& r, Var output,
                        const std::vector<Var>& gradient, const Reference<double>& at, std::int64_t batch,
                        Statistics& statistics) {
  const Line line(paper, r, output, batch);
  double derivative = 0, scale = 1e-3;
  for (std::size_t k = 0; k < gradient.size(); ++k)
    for (std::size_t i = 0; i < line.direction()[k].size(); ++i) {
      const double part = at[gradient[k].id][i] * line.direction()[k][i];
      derivative += part;
      scale += std::abs(part);
    }
  const std::optional<double> slope = line.slope(std::isfinite(scale) ? scale : 1);
  ++statistics.derivatives;
  if (!slope) ++statistics.undecided;
  else if (!(std::abs(derivative - *slope) <= 1e-6 * (scale + std::abs(*slope))))
    return std::string(what) + ": derivative " + std::to_string(derivative) + ", difference " + std::to_string(*slope);
  return {};
}

/// Returns whether a convolution multiplies zeros between pixels by weights that are not finite: the processor leaves these
/// products out (record 52).
template <class T>
bool meets_left_out_zeros(const Tape& tape, const Reference<T>& reference) {
  for (int i = 0; i < tape.size(); ++i) {
    const Node& node = tape[i];
    if (node.op->kind != Kind::convolve) continue;
    const Convolution c = gradual::convolution_of(node, tape[node.in[0]].shape, tape[node.in[1]].shape);
    const auto is_finite = [](T weight) { return gradual::math::is_finite(weight); };
    if (c.y.spread * c.x.spread > 1 && !std::ranges::all_of(reference[node.in[1]], is_finite)) return true;
  }
  return false;
}

template <class T>
std::string check_eager(const RandomGraph& graph, const OpTable& table, const std::vector<Var>& parameters,
                        Statistics& statistics) {
  Eagerly<T> source(graph, parameters);
  Recorder recorder(graph, source);
  recorder.run(graph, table);
  record_derivatives(graph, source, recorder);
  EagerTape& tape = *source.tape;
  std::vector<T> scalars;
  for (const Scalar& s : tape.scalars) scalars.push_back(static_cast<T>(s.at(0)));
  const Reference<T> reference(tape, graph.batch, source.inputs, source.parameter_values, scalars, randomness);
  if (meets_left_out_zeros(tape, reference)) return ++statistics.left_out, std::string();
  for (int i = 0; i < tape.size(); ++i) statistics.compared += static_cast<std::int64_t>(reference[i].size());
  const std::string wrong = gradual::op_checks::difference(tape, tape.values(), reference);
  return wrong.empty() ? wrong : std::string("eager ") + name_of(dtype_of<T>) + ": other bits than the reference in " + wrong;
}

/// Checks everything that must hold for an admissible graph. Returns what is wrong, or an empty text.
std::string check(const RandomGraph& graph, const OpTable& table, Statistics& statistics) {
  OnPaper paper(graph);
  Recorder recorder(graph, paper);
  recorder.run(graph, table);
  const int forward = paper.tape.size();
  Recorded r;
  try {
    r = record_derivatives(graph, paper, recorder);
  } catch (const ShapeError& error) {
    return std::string("backward: ") + error.what();
  }
  statistics.add(paper.tape, forward);
  Values scalars;
  for (const Scalar& s : paper.tape.scalars) scalars.push_back(s.at(0));
  const Reference<double> at(paper.tape, graph.batch, paper.inputs, {}, scalars, randomness);
  std::string wrong = check_slope("gradient", paper, r, r.total, r.gradient, at, graph.batch, statistics);
  if (wrong.empty())
    wrong = check_slope("gradient through an optimizer step", paper, r, r.updated_total, r.second_gradient, at,
                        graph.batch, statistics);
  if (wrong.empty()) wrong = check_eager<float>(graph, table, recorder.parameters, statistics);
  if (wrong.empty()) wrong = check_eager<double>(graph, table, recorder.parameters, statistics);
  return wrong;
}

constexpr int steps = 34;  // not all of which fit

TEST(RandomGraphs, HaveTheDerivativesOfDifferencesAndTheBitsOfTheReference) {
  const OpTable table = every_step();
  Statistics statistics;
  int failures = 0;
  for (const std::uint64_t seed : drawn_seeds("graphs", 200, 1000)) {
    if (failures == 3) break;
    const RandomGraph graph = admissible(draw_graph(seed, steps), table);
    const std::string wrong = check(graph, table, statistics);
    if (wrong.empty()) continue;
    const RandomGraph small = shrunk(graph, table, [&](const RandomGraph& g) { return !check(g, table, statistics).empty(); });
    ADD_FAILURE() << wrong << "\n" << describe(small, table) << check(small, table, statistics);
    ++failures;
  }

  std::sort(statistics.nodes.begin(), statistics.nodes.end());
  const int median = statistics.nodes[statistics.nodes.size() / 2];
  std::printf(
      "swept: random graphs have a median of %d nodes, the largest %d; %d derivatives, of which %d undecided; %lld elements of "
      "eager tapes, %d tapes left out (record 52)\n",
      median, statistics.nodes.back(), statistics.derivatives, statistics.undecided,
      static_cast<long long>(statistics.compared), statistics.left_out);
  EXPECT_GE(median, 25);
  EXPECT_LT(statistics.left_out, 50) << "of 2400 tapes";
  EXPECT_LT(statistics.undecided, statistics.derivatives / 20);
  std::size_t ops = 0;
  const auto expect_often = [&]<class... Op>(OpList<Op...>) {
    const auto expect = [&]<class O>(O) {
      if constexpr (!requires { &O::vjp; }) return;
      ++ops;
      EXPECT_GE(statistics.graphs_of[O::name], 20) << O::name;
    };
    (expect(Op{}), ...);
  };
  expect_often(MapOps{});
  expect_often(RowOps{});
  expect_often(OpList<BatchMatmul, BatchSum, Broadcast, Conv2d, Gather, GatherOwn, Matmul, MaxPool2d, Pad, Reshape, ScatterAdd,
                      Slice, Transpose>{});
  const auto [rarest, count] = *std::min_element(statistics.graphs_of.begin(), statistics.graphs_of.end(),
                                                 [](const auto& a, const auto& b) { return a.second < b.second; });
  std::printf(
      "swept: %zu differentiable ops in random graphs, the rarest of all ops is %s in %d graphs; %zu pairs of an op and what "
      "reads it\n",
      ops, rarest.c_str(), count, statistics.pairs.size());
}

/// tanh with a derivative that is wrong by a thousandth.
struct Bent {
  static constexpr const char* name = "bent";
  static constexpr int arity = 1;
  template <class T>
  static constexpr T apply(T x) {
    return math::tanh(x);
  }
  static constexpr Var vjp(Var g, Var, Var y) { return g * (1.001 - 1.001 * (y * y)); }
};

TEST(RandomGraphs, AWrongDerivativeIsFoundAndMadeSmall) {
  OpTable table = every_step();
  table.push_back({Bent::name, map_step<Bent>});
  Statistics statistics;
  for (std::uint64_t seed = 0;; ++seed) {
    ASSERT_LT(seed, 30u) << "none was found";
    const RandomGraph graph = admissible(draw_graph(seed, steps), table);
    if (check(graph, table, statistics).empty()) continue;
    const RandomGraph small = shrunk(graph, table, [&](const RandomGraph& g) { return !check(g, table, statistics).empty(); });
    const auto bent = [&](std::uint64_t step) { return Recorder::entry_of(step, table).name == Bent::name; };
    EXPECT_LE(small.steps.size(), 3u) << describe(small, table);
    EXPECT_TRUE(std::any_of(small.steps.begin(), small.steps.end(), bent)) << describe(small, table);
    break;
  }
}

}  // namespace random_graphs_test
