// Taylor's theorem for whole training losses: the remainders after the gradient and the second derivative shrink as h² and
// h³.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <gradual/autodiff/reference.hpp>

#include "../models.hpp"

namespace taylor_test {

using namespace models;

using Values = std::vector<double>;
constexpr std::int64_t samples = 7;

double number(unsigned& seed) {
  seed = seed * 1664525u + 1013904223u;
  return static_cast<double>(seed >> 8) * 0x1p-23 - 1.0;
}

/// A classifier with different, smooth layers.
struct Smooth {
  nn::Linear first, second, third;
  constexpr explicit Smooth(Scope s) : first(s / "first", 5, 8), second(s / "second", 8, 6), third(s / "third", 6, 4) {}
  constexpr Loss loss(Var x, Var label) const {
    return Loss(cross_entropy(third(gelu(second(tanh(first(x))))), label));
  }
};

struct Slopes {
  double first = 10, second = 10;  ///< the smallest over the steps
};

/// Measures the loss of all samples along one random direction through a random point.
template <class Model, class... In>
Slopes slopes_of(Inputs<In...> in, std::vector<Values> data) {
  Tape tape = trace_training<Model>(in);
  Var loss, along, curvature;
  std::vector<int> parameters;
  std::vector<Var> direction, gradient;
  for (const Root& root : tape.roots) {
    if (root.role == Role::loss) loss = Var{&tape, root.node};
    if (root.role != Role::gradient) continue;
    gradient.push_back({&tape, root.node});
    parameters.push_back(parameter(tape, root.index).id);
  }
  for (Var g : gradient) {
    direction.push_back(input(tape, g.shape(), g.dtype()));
    Var part = reduce_to(g * direction.back(), Shape{});
    along = along.valid() ? along + part : part;
  }
  const std::vector<Var> hessian_times_direction = backward(along, constant_like(along, 1), parameters);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    Var part = reduce_to(hessian_times_direction[static_cast<std::size_t>(parameters[p])] * direction[p], Shape{});
    curvature = curvature.valid() ? curvature + part : part;
  }

  unsigned seed = 5;
  std::vector<Values> point;
  for (const ParameterInfo& p : tape.parameters) {
    point.emplace_back(static_cast<std::size_t>(p.shape.unit()));
    data.emplace_back(point.back().size());
    for (double& v : point.back()) v = 0.7 * number(seed);
    for (double& v : data.back()) v = number(seed);
  }
  const std::size_t first_direction = data.size() - point.size();
  const auto evaluate = [&](double h) {
    std::vector<Values> moved = point;
    for (std::size_t p = 0; p < moved.size(); ++p)
      for (std::size_t i = 0; i < moved[p].size(); ++i) moved[p][i] += h * data[first_direction + p][i];
    return Reference<double>(tape, samples, data, moved);
  };
  const auto total = [&](const Reference<double>& at) {
    double sum = 0;
    for (double v : at[loss.id]) sum += v;
    return sum;
  };
  const Reference<double> here = evaluate(0);
  const double l = total(here), g = here[along.id][0], c = here[curvature.id][0];
  Slopes result;
  double last_first = 0, last_second = 0;
  for (double h = 1.0 / 64; h > 1.0 / 1024; h /= 2) {
    const double moved = total(evaluate(h));
    const double rest_first = std::abs(moved - l - h * g), rest_second = std::abs(moved - l - h * g - 0.5 * h * h * c);
    if (last_first > 0) {
      result.first = std::min(result.first, std::log2(last_first / rest_first));
      result.second = std::min(result.second, std::log2(last_second / rest_second));
    }
    last_first = rest_first;
    last_second = rest_second;
  }
  return result;
}

Values doubles(std::size_t count, unsigned seed) {
  Values v(count);
  for (double& x : v) x = number(seed);
  return v;
}

void expect_slopes(const char* name, const Slopes& slopes) {
  std::printf("%s: slopes %.3f and %.3f\n", name, slopes.first, slopes.second);
  EXPECT_GT(slopes.first, 1.9) << name;
  EXPECT_GT(slopes.second, 2.9) << name;
}

TEST(Taylor, ClassifierWithSmoothLayers) {
  expect_slopes("classifier", slopes_of<Smooth>(Inputs<f32[5], i32>{}, {doubles(5 * samples, 1), {0, 1, 2, 3, 2, 1, 0}}));
}

TEST(Taylor, WeightedRegression) {
  expect_slopes("weighted regression",
                slopes_of<WeightedRegression>(Inputs<f32[4], f32[3], f32>{},
                                              {doubles(4 * samples, 1), doubles(3 * samples, 2), Values(samples, 1.0)}));
}

TEST(Taylor, SequenceWithTiedWeights) {
  expect_slopes("sequence", slopes_of<Sequence>(Inputs<f32[3][6], f32[3][2]>{},
                                                {doubles(18 * samples, 1), doubles(6 * samples, 2)}));
}

}  // namespace taylor_test
