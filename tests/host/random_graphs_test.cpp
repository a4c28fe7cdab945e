// A thousand random graphs: derivatives by the tape against differences, also through an optimizer step, and eager
// execution against the reference, bit for bit. A graph that fails is made smaller and printed with its seed.
// GRADUAL_SEED=n runs the graphs from seed n on instead of fresh ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <gradual/eager/tape.hpp>
#include <gradual/optim/adam.hpp>
#include <gradual/optim/sgd.hpp>

#include "random_graph_on_paper.hpp"

using namespace random_graph;

namespace {

/// A tape that runs; `inputs` and `parameters` are what the reference is given. In float, parameters are a model's.
template <class T>
struct Eagerly : SourceOfConstants {
  Numbers numbers;
  std::vector<std::vector<T>> inputs, parameter_values;
  Parameters parameters{Device::cpu()};
  std::optional<EagerTape> tape;
  std::deque<std::vector<T>> kept;
  std::vector<std::int32_t> label;

  Eagerly(const RandomGraph& graph, const std::vector<Var>& like) : numbers(graph.seed, graph.batch) {
    Scope scope = parameters.root();
    for (std::size_t p = 0; p < like.size(); ++p) scope.parameter(std::to_string(p), like[p].shape(), {});
    parameters.initialize(1);
    tape.emplace(parameters, graph.batch);
    tape->values().bind_random(randomness);
  }
  Var samples(const Shape& sample) override { return tape->input(keep(numbers.samples(sample)), sample); }
  Var labels() override {
    for (double l : numbers.labels()) label.push_back(static_cast<std::int32_t>(l));
    inputs.emplace_back(label.begin(), label.end());
    return tape->input(label);
  }
  Var parameter(const Shape& shape) override {
    if constexpr (sizeof(T) == sizeof(double)) return whole(numbers.parameter(shape), shape);
    const auto index = static_cast<int>(parameter_values.size());
    const Values values = numbers.parameter(shape);
    parameter_values.emplace_back(values.begin(), values.end());
    for (std::size_t i = 0; i < values.size(); ++i) parameters[index].values[i] = static_cast<float>(values[i]);
    return gradual::parameter(*tape, index);
  }
  Var constant(const Shape& shape) override { return whole(numbers.constant(shape), shape); }

 private:
  const std::vector<T>& keep(const Values& values) {
    inputs.emplace_back(values.begin(), values.end());
    return kept.emplace_back(inputs.back());
  }
  Var whole(const Values& values, const Shape& shape) {
    return tape->input(Tensor::from(tape->values().device(), std::span<const T>(keep(values)), shape));
  }
};

/// What a graph leaves on a tape: the sum of everything that no step read, its gradients, an optimizer step with them,
/// and the gradients of the new parameters' sum.
struct Recorded {
  std::vector<Var> targets, gradient, second_gradient;
  Var total, updated_total;
};

/// The sum of all elements, each with another weight, or of samples that are not outermost all with the same.
Var weighed(SourceOfConstants& source, Var y) {
  const Shape s = y.shape();
  Shape sample;
  for (int i = 1; i < s.rank; ++i) sample.extent[sample.rank++] = s.extent[i];
  Var weight = constant_like(y, 0.7);
  if (!s.batched()) weight = source.constant(s);
  else if (s.batch_axis == 0 && s.extent[0] == 1) weight = source.samples(sample);
  return reduce_to(y * weight, Shape{});
}

template <class Rule>
Var updated(const Rule& rule, SourceOfConstants& source, Var parameter, Var gradient, Var step) {
  Var state[6];
  for (int i = 0; i < gradual::detail::state_size<StateOf<Rule>>(); ++i) state[i] = source.constant(parameter.shape());
  return apply_rule(rule, parameter, gradient, gradual::detail::make_state<StateOf<Rule>>(state), step).parameter;
}

std::vector<Var> gradients_of(Var y, const std::vector<Var>& of) {
  if (y.tape->executor != nullptr) return gradients(y, of);
  std::vector<int> ids;
  for (Var v : of) ids.push_back(v.id);
  const std::vector<Var> adjoint = backward(y, constant_like(y, 1), ids);
  std::vector<Var> result;
  for (Var v : of) {
    const Var g = adjoint[static_cast<std::size_t>(v.id)];
    result.push_back(g.valid() ? g : constant_like(v, 0));
  }
  return result;
}

Recorded record_derivatives(const RandomGraph& graph, SourceOfConstants& source, const Recorder& recorder) {
  Recorded r;
  r.targets = recorder.targets;
  const auto sum_of = [&](Var so_far, Var y) {
    const Var part = weighed(source, y);
    return so_far.valid() ? so_far + part : part;
  };
  for (const Recorder::Value& value : recorder.values)
    if (!value.used) r.total = sum_of(r.total, value.v);
  r.gradient = gradients_of(r.total, r.targets);
  const Var step = constant_like(r.total, 3);
  const std::size_t first = r.targets.size() - recorder.parameters.size();
  for (std::size_t p = first; p < r.targets.size(); ++p) {
    const Var parameter = r.targets[p], g = r.gradient[p];
    const Var next = graph.seed % 3 == 0   ? updated(Sgd{.learning_rate = 0.3, .momentum = 0.9}, source, parameter, g, step)
                     : graph.seed % 3 == 1 ? updated(Adam{.learning_rate = 0.3}, source, parameter, g, step)
                                           : updated(AdamW{.learning_rate = 0.3}, source, parameter, g, step);
    r.updated_total = sum_of(r.updated_total, next);
  }
  r.second_gradient = gradients_of(r.updated_total, r.targets);
  return r;
}

/// The first nodes of a tape as a function of a number t, which moves all targets along one direction.
class Line {
 public:
  Line(const OnPaper& paper, const Recorded& r, Var output, std::int64_t batch)
      : inputs_(paper.inputs), output_(output.id), batch_(batch) {
    tape_.nodes.assign(paper.tape.nodes.begin(), paper.tape.nodes.begin() + output.id + 1);
    for (const Scalar& s : paper.tape.scalars) scalars_.push_back(s.at(0));
    for (std::size_t k = 0; k < r.targets.size(); ++k) {
      which_.push_back(static_cast<std::size_t>(r.targets[k].attributes().integer[0]));
      direction_.emplace_back(inputs_[which_[k]].size());
      for (std::size_t i = 0; i < direction_[k].size(); ++i) direction_[k][i] = 2 * unit_number(mix(k + 1) + i) - 1;
    }
    for (int i = 0; i < tape_.size(); ++i) {
      const auto domain = domains().find(tape_[i].op->id);
      const bool compares = tape_[i].op->i32 != nullptr || (tape_[i].op->kind == Kind::row_reduce && !is<Sum>(tape_[i]) && !is<Prod>(tape_[i]));
      if (compares || is<MaxPool2d>(tape_[i]) ||
          (domain != domains().end() && (domain->second.kink_at_zero || domain->second.kink_at_ties)))
        kinks_.push_back(i);
    }
  }
  const std::vector<Values>& direction() const { return direction_; }

  struct Point {
    double value;
    std::uint64_t side;  ///< of every kink: between points on one side, the function is smooth
  };
  Point operator()(double t) const {
    std::vector<Values> moved = inputs_;
    for (std::size_t k = 0; k < which_.size(); ++k)
      for (std::size_t i = 0; i < moved[which_[k]].size(); ++i) moved[which_[k]][i] += t * direction_[k][i];
    const Reference<double> at(tape_, batch_, moved, {}, scalars_, randomness);
    std::uint64_t side = 0;
    for (int i : kinks_) side_of(i, at, side);
    return {at[output_][0], side};
  }

  /// The derivative at 0 by 6-point differences whose points lie on one side of every kink, with steps that shrink until
  /// two agree; none where they never do.
  std::optional<double> slope(double scale) const {
    const Point center = (*this)(0);
    std::optional<double> last;
    for (double step = 0x1p-8; step > 0x1p-22; step /= 8) {
      constexpr double weight[] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
      double slope = 0;
      bool smooth = true;
      for (int d = 1; d <= 3 && smooth; ++d) {
        const Point above = (*this)(d * step), below = (*this)(-d * step);
        slope += weight[d - 1] * (above.value - below.value) / step;
        smooth = above.side == center.side && below.side == center.side;
      }
      if (!smooth) continue;
      if (last && std::abs(slope - *last) <= 1e-7 * (scale + std::abs(slope))) return slope;
      last = slope;
    }
    return std::nullopt;
  }

 private:
  static const std::map<std::uint64_t, Domain>& domains() {
    static const auto result = []<class... Op>(OpList<Op...>) {
      std::map<std::uint64_t, Domain> of;
      const auto add = [&]<class O>(O) {
        if constexpr (requires { O::domain; }) of.emplace(op_info<O>.id, O::domain);
      };
      (add(Op{}), ...);
      return of;
    }(MapOps{});
    return result;
  }
  void side_of(int id, const Reference<double>& at, std::uint64_t& side) const {
    const Node& node = tape_[id];
    const auto note = [&](double a, double b) { side = mix(side + (a < b ? 1 : a > b ? 2 : 3)); };
    const Values& y = at[id];
    if (node.op->i32 != nullptr || is<ArgMax>(node)) {
      for (double x : y) side = mix(side + static_cast<std::uint64_t>(x));
    } else if (node.op->kind == Kind::row_reduce) {
      const Values& x = at[node.in[0]];
      for (std::size_t i = 0; i < x.size(); ++i) note(x[i], y[i * y.size() / x.size()]);
    } else if (is<Where>(node)) {
      for (double x : at[node.in[0]]) note(std::abs(x), 0);
    } else if (is<MaxPool2d>(node)) {
      const Pooling p = recorded_pooling(tape_.nodes.data(), node);
      for (std::size_t i = 0; i < y.size(); ++i)
        for (std::int64_t place = 0; place < p.y.kernel * p.x.kernel; ++place) {
          const std::int64_t plane = static_cast<std::int64_t>(i) / p.positions(),
                             position = static_cast<std::int64_t>(i) % p.positions();
          const std::int64_t row = p.y.at(position / p.x.out, place / p.x.kernel),
                             column = p.x.at(position % p.x.out, place % p.x.kernel);
          if (row >= 0 && column >= 0)
            note(at[node.in[0]][static_cast<std::size_t>((plane * p.y.in + row) * p.x.in + column)], y[i]);
        }
    } else {
      const Domain& domain = domains().at(node.op->id);
      for (std::size_t i = 0; i < y.size(); ++i)
        for (int k = 0; k < node.op->arity; ++k) {
          if (domain.kink_at_zero) note(at[node.in[k]][i], 0);
          if (domain.kink_at_ties && k > 0) note(at[node.in[0]][i], at[node.in[k]][i]);
        }
    }
  }

  Tape tape_;
  std::vector<Values> inputs_, direction_;
  Values scalars_;
  std::vector<std::size_t> which_;
  std::vector<int> kinks_;
  int output_;
  std::int64_t batch_;
};

/// What the graphs of one run were.
struct Statistics {
  std::vector<int> nodes;
  std::map<std::string, int> graphs_of;
  std::set<std::pair<std::string, std::string>> pairs;
  int derivatives = 0, undecided = 0;
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

/// Compares a derivative along a line with differences. Gives what is wrong, or nothing.
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

template <class T>
std::string check_eager(const RandomGraph& graph, const OpTable& table, const std::vector<Var>& parameters, Statistics& statistics) {
  Eagerly<T> source(graph, parameters);
  Recorder recorder(graph, source);
  recorder.run(graph, table);
  record_derivatives(graph, source, recorder);
  EagerTape& tape = *source.tape;
  std::vector<T> scalars;
  for (const Scalar& s : tape.scalars) scalars.push_back(static_cast<T>(s.at(0)));
  const Reference<T> reference(tape, graph.batch, source.inputs, source.parameter_values, scalars, randomness);
  for (int i = 0; i < tape.size(); ++i) {
    const Tensor got = value({&tape, i});
    const std::vector<T>& expected = reference[i];
    if (got.size() != static_cast<std::int64_t>(expected.size()))
      return std::string("eager: node ") + std::to_string(i) + " has another size";
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const T a = expected[k], b = static_cast<T>(got[static_cast<std::int64_t>(k)]);
      if (std::memcmp(&a, &b, sizeof(T)) != 0 && !(a != a && b != b))
        return std::string("eager ") + name_of(dtype_of<T>) + ": node " + std::to_string(i) + " " + tape[i].op->name + "[" +
               std::to_string(k) + "] is " + std::to_string(b) + ", the reference has " + std::to_string(a);
    }
    statistics.compared += static_cast<std::int64_t>(expected.size());
  }
  return {};
}

/// Everything that must hold of an admissible graph. Gives what is wrong, or nothing.
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
  constexpr std::uint64_t corpus = 200, fresh = 1000;
  const char* given = std::getenv("GRADUAL_SEED");
  std::random_device device;
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : std::uint64_t{device()} << 20;
  std::printf("%d graphs of the corpus, %d from seed %llu on\n", static_cast<int>(corpus), static_cast<int>(fresh),
              static_cast<unsigned long long>(first));
  const OpTable table = every_step();
  Statistics statistics;
  int failures = 0;
  for (std::uint64_t i = 0; i < corpus + fresh && failures < 3; ++i) {
    const RandomGraph graph = admissible(draw_graph(i < corpus ? i : first + i - corpus, steps), table);
    const std::string wrong = check(graph, table, statistics);
    if (wrong.empty()) continue;
    const RandomGraph small = shrunk(graph, table, [&](const RandomGraph& g) { return !check(g, table, statistics).empty(); });
    ADD_FAILURE() << wrong << "\n" << describe(small, table) << check(small, table, statistics);
    ++failures;
  }

  std::sort(statistics.nodes.begin(), statistics.nodes.end());
  const int median = statistics.nodes[statistics.nodes.size() / 2];
  std::printf("nodes: median %d, largest %d; %d derivatives, of which %d undecided; %lld elements of eager tapes\n",
              median, statistics.nodes.back(), statistics.derivatives, statistics.undecided,
              static_cast<long long>(statistics.compared));
  EXPECT_GE(median, 25);
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
  expect_often(OpList<BatchMatmul, BatchSum, Broadcast, Conv2d, Gather, Matmul, MaxPool2d, Pad, Reshape, Slice,
                      Transpose>{});
  const auto [rarest, count] = *std::min_element(statistics.graphs_of.begin(), statistics.graphs_of.end(),
                                                 [](const auto& a, const auto& b) { return a.second < b.second; });
  std::printf("%zu differentiable ops, the rarest of all ops is %s in %d graphs; %zu pairs of an op and what reads it\n",
              ops, rarest.c_str(), count, statistics.pairs.size());
}

/// tanh, whose derivative is wrong by a thousandth.
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

}  // namespace
