#pragma once
#include <algorithm>
#include <vector>

#include <gradual/autodiff/reference.hpp>
#include <gradual/optim/update.hpp>
#include <gradual/train/update_parts.hpp>

namespace gradual::detail {

/// Returns `arrays` (parameters, gradient, states) after step `step`, counted from 1, by the reference interpreter, of the rule
/// traced in `update`; `seed`: that of its random numbers.
inline std::vector<std::vector<float>> reference_update(const Tape& update, std::vector<std::vector<float>> arrays,
                                                        float weight, int step, std::uint64_t seed = 0) {
  const UpdateParts parts(update);
  std::vector<float*> places;
  for (std::vector<float>& array : arrays) places.push_back(array.data());
  std::vector<std::vector<double>> inputs;
  for (const InputInfo& input : update.inputs) {
    const float* from = parts.place(places.data(), static_cast<std::int64_t>(inputs.size()));
    inputs.emplace_back(from, from + input.shape.unit());
  }
  std::vector<double> scalars = {weight, static_cast<double>(step)};
  for (std::size_t s = rule_scalars; s < update.scalars.size(); ++s)
    scalars.push_back(static_cast<float>(update.scalars[s].at(step - 1)));
  const Randomness random{.on = true, .seed = seed, .step = static_cast<std::uint64_t>(step - 1)};
  const Reference<float, double> reference(update, 1, inputs, {}, scalars, random);  // in double where the rule says so
  for (const Root& root : update.roots)
    std::ranges::transform(reference[root.node], parts.place(places.data(), root.index),
                           [](double x) { return static_cast<float>(x); });
  return arrays;
}

}  // namespace gradual::detail
