#pragma once
#include <gradual/core/philox.hpp>
#include <gradual/core/philox_normal.hpp>
#include <gradual/train/parameters_view.hpp>

namespace gradual {

/// Gives every parameter its initial values, keyed by (seed, parameter, element).
template <class Net>
void initialize(ParametersView<Net> parameters, std::uint64_t seed) {
  for (int p = 0; p < parameters.size(); ++p) {
    const Initializer& start = Net::parameter(p).initializer;
    const auto scale = static_cast<float>(start.scale);
    std::uint64_t element = 0;
    for (float& value : parameters[p].values) {
      const auto stream = static_cast<std::uint64_t>(p);
      if (start.kind == Initializer::Kind::constant) value = scale;
      else if (start.kind == Initializer::Kind::uniform) value = scale * (2 * uniform<float>(seed, stream, element) - 1);
      else value = scale * normal<float>(seed, stream, element);
      ++element;
    }
  }
}

}  // namespace gradual
