#pragma once
// The inputs of a random graph, and a random graph that is differentiable at them.
#include <algorithm>
#include <cmath>
#include <sstream>

#include <gradual/autodiff/print.hpp>
#include <gradual/autodiff/reference.hpp>

#include "random_graph.hpp"

namespace random_graph {

constexpr double largest_value = 30;  // steps with larger values are left out: differences would be useless
inline const Randomness randomness{true, 3, 2, nullptr, 17};

using Values = std::vector<double>;

/// The values of a graph's inputs, the same floats for every kind of tape.
class Numbers {
 public:
  Numbers(std::uint64_t seed, std::int64_t batch) : seed_(seed), batch_(batch) {}
  Values labels() { return make({}, true, [](double u) { return u < 0.5 ? 0.0 : 1.0; }); }
  Values samples(const Shape& sample) { return make(sample, true, [](double u) { return 3 * u - 1.5; }); }
  Values parameter(const Shape& shape) { return make(shape, false, [](double u) { return 3 * u - 1.5; }); }
  Values constant(const Shape& shape) { return make(shape, false, [](double u) { return u + 0.5; }); }

 private:
  template <class F>
  Values make(const Shape& shape, bool per_sample, F f) {
    Values result(static_cast<std::size_t>(shape.unit() * (per_sample ? batch_ : 1)));
    const std::uint64_t key = mix(mix(seed_) + ++inputs_);
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = static_cast<double>(static_cast<float>(f(unit_number(key + i))));
    return result;
  }
  std::uint64_t seed_, inputs_ = 0;
  std::int64_t batch_;
};

/// A source that also has values for optimizer states and weights.
class SourceOfConstants : public Source {
 public:
  virtual Var constant(const Shape& shape) = 0;  ///< in [0.5, 1.5)
};

/// A tape that only records.
struct OnPaper : SourceOfConstants {
  Tape tape;
  Numbers numbers;
  std::vector<Values> inputs;
  explicit OnPaper(const RandomGraph& graph) : numbers(graph.seed, graph.batch) {}
  Var samples(const Shape& sample) override { return add(numbers.samples(sample), Shape::per_sample(sample)); }
  Var labels() override { return add(numbers.labels(), Shape::per_sample({}), DType::i32); }
  Var parameter(const Shape& shape) override { return add(numbers.parameter(shape), shape); }
  Var constant(const Shape& shape) override { return add(numbers.constant(shape), shape); }

 private:
  Var add(Values values, const Shape& shape, DType dtype = DType::f32) {
    inputs.push_back(std::move(values));
    return input(tape, shape, dtype);
  }
};

/// Removes the steps that do not fit, and those whose values are too large or whose divisors too small for differences.
inline RandomGraph admissible(RandomGraph graph, const OpTable& table) {
  for (;;) {
    OnPaper paper(graph);
    Recorder recorder(graph, paper);
    recorder.run(graph, table);
    const Reference<double> at(paper.tape, graph.batch, paper.inputs, {}, {}, randomness);
    std::vector<std::uint64_t> kept;
    bool whole = true;
    for (std::size_t s = 0; s < graph.steps.size(); ++s) {
      if (recorder.fitted[s] == 0) continue;
      const bool was_whole = whole;
      for (int i = s == 0 ? 0 : recorder.step_end[s - 1]; i < recorder.step_end[s]; ++i) {
        const Node& node = paper.tape[i];
        for (double x : at[i]) whole = whole && std::abs(x) <= largest_value;
        if (is<Divide>(node) || is<StrongDivide>(node))
          for (double x : at[node.in[1]]) whole = whole && std::abs(x) >= 1 / largest_value;
      }
      if (whole || !was_whole) kept.push_back(graph.steps[s]);  // one bad step at a time: its readers then read others
    }
    const bool done = kept.size() == graph.steps.size();
    graph.steps = std::move(kept);
    if (done) return graph;
  }
}

/// Removes steps, many at once and then one by one, while the graph still fails.
template <class Fails>
RandomGraph shrunk(RandomGraph graph, const OpTable& table, Fails fails) {
  for (std::size_t count = graph.steps.size(); count > 0; count /= 2)
    for (std::size_t at = 0; at < graph.steps.size();) {
      RandomGraph smaller = graph;
      const auto first = smaller.steps.begin() + static_cast<std::ptrdiff_t>(at);
      smaller.steps.erase(first, first + static_cast<std::ptrdiff_t>(std::min(count, graph.steps.size() - at)));
      smaller = admissible(smaller, table);
      if (fails(smaller)) graph = smaller;
      else at += count;
    }
  return graph;
}

inline std::string describe(const RandomGraph& graph, const OpTable& table) {
  OnPaper paper(graph);
  Recorder recorder(graph, paper);
  recorder.run(graph, table);
  std::ostringstream out;
  out << "seed " << graph.seed << ", batch " << graph.batch << ", smallest failing graph:\n" << paper.tape;
  return out.str();
}

}  // namespace random_graph
