#pragma once
// What the reference interpreter makes of an update.
#include <algorithm>
#include <gradual/autodiff/reference.hpp>
#include <gradual/gradual.hpp>

namespace models {

using namespace gradual;

/// `arrays` (parameters, gradient, states) after step `step`, counted from 1, of a rule of which `tape` is a trace.
inline std::vector<std::vector<float>> reference_update(const Tape& tape, std::vector<std::vector<float>> arrays,
                                                        float weight, int step) {
  const UpdateParts parts(tape);
  std::vector<float*> places;
  for (std::vector<float>& array : arrays) places.push_back(array.data());
  std::vector<std::vector<double>> inputs;
  for (const InputInfo& input : tape.inputs) {
    const float* from = parts.place(places.data(), static_cast<std::int64_t>(inputs.size()));
    inputs.emplace_back(from, from + input.shape.unit());
  }
  std::vector<double> scalars = {weight, static_cast<double>(step)};
  for (std::size_t s = rule_scalars; s < tape.scalars.size(); ++s)
    scalars.push_back(static_cast<float>(tape.scalars[s].at(step - 1)));
  const Reference<float, double> reference(tape, 1, inputs, {}, scalars);  // in double where the rule says so
  for (const Root& root : tape.roots)
    std::ranges::transform(reference[root.node], parts.place(places.data(), root.index),
                           [](double x) { return static_cast<float>(x); });
  return arrays;
}

}  // namespace models
