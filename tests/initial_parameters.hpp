#pragma once
#include <gradual/gradual.hpp>

/// Returns the initial parameters of a session, without a session, whose kernels would have to be compiled.
template <class Net>
std::vector<typename Net::Real> initial_parameters(std::uint64_t seed) {
  std::vector<typename Net::Real> values(Net::parameter_elements);
  int p = 0;
  for (const auto& parameter : gradual::ParametersView<Net>(values.data()))
    gradual::initialize(parameter.values, Net::parameter(p).initializer, seed, p), ++p;
  return values;
}
