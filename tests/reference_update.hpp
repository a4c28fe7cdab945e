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
  std::vector<std::vector<float>> inputs;
  for (const InputInfo& input : tape.inputs) {
    const float* from = parts.place(places.data(), static_cast<std::int64_t>(inputs.size()));
    inputs.emplace_back(from, from + input.shape.unit());
  }
  std::vector<float> scalars = {weight, static_cast<float>(step)};
  for (std::size_t s = rule_scalars; s < tape.scalars.size(); ++s)
    scalars.push_back(static_cast<float>(tape.scalars[s].at(step - 1)));
  const Reference<float> reference(tape, 1, inputs, {}, scalars);
  for (const Root& root : tape.roots) std::ranges::copy(reference[root.node], parts.place(places.data(), root.index));
  return arrays;
}

}  // namespace models
