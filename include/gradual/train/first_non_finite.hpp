#pragma once
#include <string>

#include <gradual/autodiff/reference.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/validate.hpp>

namespace gradual {

/// Where the first value that is infinite or not a number is made in a training step of these samples: the op, its layer,
/// the element and what the op was given; empty where all are finite. Slow: every op is computed by the reference
/// interpreter, without dropout. `parameters`: all values, parameter after parameter.
/// Errors: DataError for spans that do not fit each other or values that are not finite already.
template <class Net, class... Span>
std::string first_non_finite(std::span<const float> parameters, const Span&... data) {
  using P = typename Net::Training;
  const std::int64_t batch = validate_inputs<P>(typename Net::InputTypes{}, std::span(data)...);
  if (static_cast<std::int64_t>(parameters.size()) != Net::parameter_elements)
    throw DataError("first_non_finite: the net has " + std::to_string(Net::parameter_elements) + " parameters, got " +
                    std::to_string(parameters.size()));
  std::vector<std::vector<float>> values;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const float* first = parameters.data() + Net::parameter_offset(p);
    values.emplace_back(first, first + Net::parameter(p).shape.unit());
  }
  const Tape tape = thaw(P::graph);
  const Reference<float> reference(tape, batch, {std::vector<float>(data.begin(), data.end())...}, values,
                                   {static_cast<float>(batch)});
  for (int i = 0; i < tape.size(); ++i) {
    const Node& node = tape[i];
    if (node.op->kind == Kind::constant) continue;
    for (std::size_t e = 0; e < reference[i].size(); ++e) {
      if (math::is_finite(reference[i][e])) continue;
      std::string text = std::string(i >= tape.first_adjoint ? "backward's " : "") + node.op->name;
      if (const std::string_view layer = layer_name(node, tape.parameters.data()); !layer.empty())
        text += " in layer '" + std::string(layer) + "'";
      text += ": element " + std::to_string(e) + " is " + std::to_string(reference[i][e]);
      for (int k = 0; k < node.op->arity && reference[node.in[k]].size() == reference[i].size(); ++k)
        text += (k == 0 ? ", of " : " and ") + std::to_string(reference[node.in[k]][e]);
      return text;
    }
  }
  return {};
}

}  // namespace gradual
