#pragma once
#include <gradual/train/parameters_view.hpp>

namespace gradual {

/// Gives every parameter its initial values, keyed by (seed, parameter, element).
template <class Net>
void initialize(ParametersView<Net> parameters, std::uint64_t seed) {
  for (int p = 0; p < parameters.size(); ++p) initialize(parameters[p].values, Net::parameter(p).initializer, seed, p);
}

}  // namespace gradual
