#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/core/number_text.hpp>

namespace gradual::op_checks {

/// A finished tape of doubles as one of floats, with its inputs rounded to float, and the rounded inputs as doubles.
struct InFloat {
  Tape tape;
  std::vector<std::vector<float>> samples;
  std::vector<std::vector<double>> rounded;
};
inline InFloat in_float(const Tape& tape, const std::vector<std::vector<double>>& samples) {
  InFloat result{tape, {}, {}};
  result.tape.executor = nullptr;
  for (Node& node : result.tape.nodes)
    if (node.dtype == DType::f64) node.dtype = DType::f32;
  for (const std::vector<double>& values : samples) {
    const auto& narrow = result.samples.emplace_back(values.begin(), values.end());
    result.rounded.emplace_back(narrow.begin(), narrow.end());
  }
  return result;
}

/// Names the first element of a node's floats that is further from its doubles than `units` of 2⁻²³ of the largest of these, or
/// of 1; empty if there is none.
inline std::string far_from_double(Var node, const std::vector<float>& floats, const std::vector<double>& doubles,
                                   double units) {
  double largest = 1;
  for (double x : doubles) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < doubles.size(); ++i)
    if (!(std::abs(floats[i] - doubles[i]) <= units * std::numeric_limits<float>::epsilon() * largest))
      return std::string(node.node().op->name) + "[" + std::to_string(i) + "] is " + detail::exact_text(floats[i]) +
             (std::isnan(doubles[i]) ? ", in double too: is it defined everywhere in its domain?"
                                     : ", not " + detail::exact_text(doubles[i]));
  return {};
}

}  // namespace gradual::op_checks
