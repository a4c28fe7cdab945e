#pragma once
// A random graph that runs while it is recorded.
#include <deque>
#include <optional>

#include <gradual/eager/tape.hpp>

#include "random_graph_on_paper.hpp"

namespace random_graph {

/// A tape that runs; the reference is given `inputs` and `parameter_values`. In float, parameters are those of a model.
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

}  // namespace random_graph
