#pragma once
// Recorded after a random graph: derivatives, an optimizer step, and derivatives through it.
#include <gradual/eager/tape.hpp>
#include <gradual/optim/adam.hpp>
#include <gradual/optim/sgd.hpp>

#include "random_graph_on_paper.hpp"

namespace random_graph {

/// The values recorded after a graph: the sum of all values that no step has read, its gradients, an optimizer step with
/// them, and the gradients of the new parameters' sum.
struct Recorded {
  std::vector<Var> targets, gradient, second_gradient;
  Var total, updated_total;
};

/// Returns the sum of all elements, each with its own weight, or all with the same where samples are not outermost.
inline Var weighed(SourceOfConstants& source, Var y) {
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

inline std::vector<Var> gradients_of(Var y, const std::vector<Var>& of) {
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

inline Recorded record_derivatives(const RandomGraph& graph, SourceOfConstants& source, const Recorder& recorder) {
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

}  // namespace random_graph
