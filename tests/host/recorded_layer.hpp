#pragma once
#include <gtest/gtest.h>

#include <gradual/autodiff/reference.hpp>

#include "../random_numbers.hpp"

namespace recorded_layer {

using namespace gradual;

using Values = std::vector<double>;

inline Values numbers(std::int64_t count, std::uint64_t seed) {
  Values result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<double>(mix(seed * 1000 + i) >> 11) * 0x1p-52 - 1;
  return result;
}

/// A layer on its own tape, with its input and the values of its parameters.
struct Recorded {
  Tape tape;
  std::vector<Values> parameters;
  Var x;
  explicit Recorded(const Shape& sample) : x(input(tape, Shape::per_sample(sample), DType::f32)) {}

  Values result(const Var& y, std::int64_t batch, const Values& values) { return result_of(y, batch, {values}); }
  /// Returns y for several inputs.
  Values result_of(const Var& y, std::int64_t batch, const std::vector<Values>& values) {
    for (std::size_t p = parameters.size(); p < tape.parameters.size(); ++p)
      parameters.push_back(numbers(tape.parameters[p].shape.unit(), p + 1));
    return Reference<double>(tape, batch, values, parameters)[y.id];
  }
  const Values& operator[](const std::string& name) const {
    for (std::size_t p = 0; p < tape.parameters.size(); ++p)
      if (tape.parameters[p].name.string() == name) return parameters[p];
    throw std::out_of_range(name);
  }
};

inline void expect_near(const Values& a, const Values& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-14) << i;
}

/// row·weight + bias.
inline Values affine(const double* row, const Values& weight, const Values& bias) {
  Values y = bias;
  for (std::size_t k = 0; k < weight.size() / bias.size(); ++k)
    for (std::size_t j = 0; j < y.size(); ++j) y[j] += row[k] * weight[k * y.size() + j];
  return y;
}

}  // namespace recorded_layer
