#pragma once
#include <utility>

/// Returns the slope of f at 0 by 6-point differences.
template <class F>
double slope_of(F f) {
  double slope = 0;
  for (const auto& [step, factor] : {std::pair{1e-3, 0.75}, {2e-3, -0.15}, {3e-3, 1.0 / 60}})
    slope += factor * (f(step) - f(-step)) / 1e-3;
  return slope;
}
