#pragma once
#include <span>
#include <string>

#include <gradual/autodiff/tape.hpp>
#include <gradual/core/math/all_finite.hpp>

namespace gradual::detail {

/// Returns the first NaN parameter as "element 3 of parameter 'hidden/weight'"; empty where there is none.
template <class Real>
std::string place_of_nan(std::span<const ParameterInfo> declared, std::span<const Real> values) {
  if (math::all_finite(values)) return {};
  auto value = values.begin();
  for (const ParameterInfo& info : declared)
    for (std::int64_t i = 0; i < info.shape.unit(); ++i, ++value)
      if (*value != *value) return "element " + std::to_string(i) + " of parameter '" + info.name.string() + "'";
  return {};
}

}  // namespace gradual::detail
