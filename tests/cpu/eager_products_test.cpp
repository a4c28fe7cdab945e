// Products with Hessians and Jacobians, by backward passes alone, against differences of the same net in long double.
#include <gtest/gtest.h>

#include <cmath>

#include <gradual/gradual.hpp>

namespace eager_products_test {

using namespace gradual;

using Real = long double;
constexpr int samples = 3, inputs = 4, hidden = 5, outputs = 2;
const std::vector<Shape> shapes = {{inputs, hidden}, {hidden}, {hidden, outputs}, {outputs}};

/// Numbers in (−1, 1).
std::vector<double> numbers(std::int64_t count, unsigned seed) {
  std::vector<double> result(static_cast<std::size_t>(count));
  for (double& v : result) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<double>(seed >> 8) * 0x1p-23 - 1;
  }
  return result;
}
const std::vector<double> x = numbers(samples * inputs, 1), target = numbers(samples * outputs, 2);

std::vector<std::vector<double>> like_parameters(unsigned seed) {
  std::vector<std::vector<double>> result;
  for (const Shape& shape : shapes) result.push_back(numbers(shape.unit(), seed++));
  return result;
}
const auto at = like_parameters(10), direction = like_parameters(20);

/// Outputs tanh(x·W + b)·V + c, and the sum of their squared errors, written by hand.
struct Net {
  Real output[samples][outputs], loss = 0;
  explicit Net(const std::vector<std::vector<Real>>& p) {
    for (int s = 0; s < samples; ++s)
      for (int o = 0; o < outputs; ++o) {
        Real sum = p[3][static_cast<std::size_t>(o)];
        for (int h = 0; h < hidden; ++h) {
          Real inner = p[1][static_cast<std::size_t>(h)];
          for (int i = 0; i < inputs; ++i)
            inner += static_cast<Real>(x[static_cast<std::size_t>(s * inputs + i)]) *
                     p[0][static_cast<std::size_t>(i * hidden + h)];
          sum += std::tanh(inner) * p[2][static_cast<std::size_t>(h * outputs + o)];
        }
        output[s][o] = sum;
        const Real error = sum - static_cast<Real>(target[static_cast<std::size_t>(s * outputs + o)]);
        loss += error * error;
      }
  }
};

/// Returns the net with parameters moved by t along the direction, and then one element by u.
Net net_at(Real t, std::size_t parameter = 0, std::size_t element = 0, Real u = 0) {
  std::vector<std::vector<Real>> p;
  for (std::size_t k = 0; k < at.size(); ++k) {
    p.emplace_back(at[k].begin(), at[k].end());
    for (std::size_t i = 0; i < at[k].size(); ++i) p[k][i] += t * static_cast<Real>(direction[k][i]);
  }
  p[parameter][element] += u;
  return Net(p);
}

/// Returns the slope of f at 0 by 6-point differences.
template <class F>
Real slope(F f) {
  constexpr Real step = 1e-3L;
  return (45 * (f(step) - f(-step)) - 9 * (f(2 * step) - f(-2 * step)) + (f(3 * step) - f(-3 * step))) / (60 * step);
}

/// The same net on a tape.
struct OnTape {
  EagerTape tape{Device::cpu(), samples};
  std::vector<Var> parameters, vectors;
  Var output, loss;
  OnTape() {
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      parameters.push_back(tape.input(Tensor::from(Device::cpu(), std::span<const double>(at[k]), shapes[k])));
      vectors.push_back(tape.input(Tensor::from(Device::cpu(), std::span<const double>(direction[k]), shapes[k])));
    }
    output =
        matmul(tanh(matmul(tape.input(x, {inputs}), parameters[0]) + parameters[1]), parameters[2]) + parameters[3];
    loss = sum(square(output - tape.input(target, {outputs})), {-1});
  }
};

TEST(HessianVector, IsTheSlopeOfTheGradient) {
  OnTape net;
  const auto products = hessian_vector(net.loss, net.parameters, net.vectors);
  double largest = 0;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const Tensor product = value(products[k]);
    ASSERT_EQ(product.shape(), shapes[k]);
    for (std::size_t i = 0; i < at[k].size(); ++i) {
      const Real expected = slope([&](Real t) { return slope([&](Real u) { return net_at(t, k, i, u).loss; }); });
      EXPECT_NEAR(product[static_cast<std::int64_t>(i)], static_cast<double>(expected), 1e-11) << k << "[" << i << "]";
      largest = std::max(largest, std::abs(static_cast<double>(expected)));
    }
  }
  EXPECT_GT(largest, 1);
}

TEST(HessianVector, TakesVectorsThatDependOnTheValuesAsConstants) {
  OnTape net;
  std::vector<Var> computed, fixed;
  for (const Var p : net.parameters)
    computed.push_back(stop_gradient(p * 2.0)), fixed.push_back(net.tape.input(value(computed.back())));
  const auto a = hessian_vector(net.loss, net.parameters, computed),
             b = hessian_vector(net.loss, net.parameters, fixed);
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::int64_t i = 0; i < shapes[k].unit(); ++i) EXPECT_EQ(value(a[k])[i], value(b[k])[i]);
}

TEST(HessianVector, OfACubeIsItsSecondDerivativeAndHasAThird) {
  EagerTape tape(Device::cpu());
  const Var v = tape.input(Tensor::from(Device::cpu(), {1.0, 2.0, -3.0}, {3})), one = constant_like(v, 1);
  const Var product = hessian_vector(v * v * v, {v}, {one})[0];
  const Var third = gradients(product, {v})[0];
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value(product)[i], 6 * value(v)[i]);
    EXPECT_EQ(value(third)[i], 6);
  }
}

/// Σ ⟨x·W, y·W⟩ is quadratic in W: its Hessian times V is xᵀ·y·V + yᵀ·x·V, exact in small whole numbers.
TEST(HessianVector, OfAWeightThatIsUsedTwice) {
  constexpr int width = 32;  // so that both uses share one sum
  const auto whole = [](int count, int factor) {
    std::vector<double> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(i * factor % 7 - 3);
    return numbers;
  };
  const std::vector<double> left = whole(samples * width, 3), right = whole(samples * width, 5), v = whole(width * width, 4);
  EagerTape tape(Device::cpu(), samples);
  const auto matrix = [&](const std::vector<double>& values) {
    return tape.input(Tensor::from(Device::cpu(), std::span<const double>(values), {width, width}));
  };
  const std::vector<double> at_w = whole(width * width, 2);
  const Var w = matrix(at_w);
  const Var loss = sum(matmul(tape.input(left, {width}), w) * matmul(tape.input(right, {width}), w), {-1});
  const Tensor product = value(hessian_vector(loss, {w}, {matrix(v)})[0]);
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = 0; j < width; ++j) {
      double expected = 0;
      for (std::size_t s = 0; s < samples * width; s += width)
        for (std::size_t k = 0; k < width; ++k)
          expected += (left[s + i] * right[s + k] + right[s + i] * left[s + k]) * v[k * width + j];
      EXPECT_EQ(product[static_cast<std::int64_t>(i * width + j)], expected) << i << ", " << j;
    }
}

TEST(HessianVector, WorksOnTheParametersOfAModel) {
  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root() / "layer", 3, 1);
  parameters.initialize(1);
  EagerTape tape(parameters, 2);
  const std::vector<float> rows = {1, 2, 3, -1, 0.5, 4};
  const Var loss = square(layer(tape.input(rows, {3})));
  const std::vector<Var> of = {parameter(tape, 0), parameter(tape, 1)};
  const auto products = hessian_vector(loss, of, {constant_like(of[0], 1), constant_like(of[1], 0)});  // 2 Σ x xᵀ v
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(value(products[0])[i],
                2 * (6 * rows[static_cast<std::size_t>(i)] + 3.5 * rows[static_cast<std::size_t>(3 + i)]), 1e-5);
  EXPECT_NEAR(value(products[1]).item(), 2 * (6 + 3.5), 1e-5);
}

TEST(Jvp, IsTheSlopeAlongTheVectors) {
  OnTape net;
  const Tensor product = value(jvp(net.output, net.parameters, net.vectors));
  ASSERT_EQ(product.shape(), (Shape{samples, outputs}));
  for (int s = 0; s < samples; ++s)
    for (int o = 0; o < outputs; ++o) {
      const Real expected = slope([&](Real t) { return net_at(t).output[s][o]; });
      EXPECT_NEAR(product[s * outputs + o], static_cast<double>(expected), 1e-12);
    }
}

TEST(Jvp, IsTheTransposeOfVjp) {
  for (const auto& f :
       {+[](Var v) { return softmax(v); }, +[](Var v) { return v; }, +[](Var v) { return max(v, {-1}); },
        +[](Var v) {
          return transpose(v, {1, 0});
        },
        +[](Var v) { return prod(v, {0}); },
        +[](Var v) {
          return sum(v, {0, 1});
        }}) {
    EagerTape tape(Device::cpu());
    const auto given = [&](unsigned seed, const Shape& shape) {
      return tape.input(Tensor::from(Device::cpu(), std::span<const double>(numbers(shape.unit(), seed)), shape));
    };
    const Var v = given(1, {3, 4}), t = given(2, {3, 4}), y = f(v), u = given(3, y.shape());
    const double forward = value(reduce_to(jvp(y, {v}, {t}) * u, Shape{})).item();
    const double backward = value(reduce_to(vjp(y, {v}, u)[0] * t, Shape{})).item();
    EXPECT_NEAR(forward, backward, 1e-14);
    EXPECT_NE(forward, 0);
  }
}

TEST(Products, WhereAnAngleHasNoDirection) {
  EagerTape tape(Device::cpu());
  const auto number = [&](double v) { return tape.input(Tensor::from(Device::cpu(), {v}, {1})); };
  const std::vector<Var> point = {number(0), number(0)}, along = {number(1), number(2)};
  const Var angle = atan2(point[0], point[1]);
  EXPECT_EQ(value(jvp(angle, point, along))[0], 0);
  for (const Var h : hessian_vector(square(angle), point, along)) EXPECT_EQ(value(h)[0], 0);
}

TEST(Gradients, OfAPartWithoutElementsAreEmpty) {
  EagerTape tape(Device::cpu());
  const Var none = tape.input(Tensor::from(Device::cpu(), std::span<const double>(), Shape{0})),
            two = tape.input(Tensor::from(Device::cpu(), {1.0, 2.0}, {2}));
  const std::vector<Var> g = gradients(concat({none, two}, 0), {none, two});
  EXPECT_EQ(value(g[0]).shape(), Shape{0});
  EXPECT_EQ(value(g[1])[1], 1);
  EXPECT_EQ(value(gradients(pad(none, 0, 1, 1, 0.5), {none})[0]).shape(), Shape{0});
}

TEST(Jvp, IsZeroOfWhatDoesNotDependOnTheValues) {
  EagerTape tape(Device::cpu());
  const Var v = tape.input(Tensor::from(Device::cpu(), {1.0, 2.0}, {2})), y = constant_like(v, 3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(value(jvp(y, {v}, {v}))[i], 0);
    EXPECT_EQ(value(hessian_vector(v, {v}, {y})[0])[i], 0);
  }
}

TEST(Products, NameWhatDoesNotFit) {
  EagerTape tape(Device::cpu()), other(Device::cpu());
  const auto given = [](EagerTape& on, const Shape& shape) {
    return on.input(Tensor::from(Device::cpu(), std::span<const double>(numbers(shape.unit(), 1)), shape));
  };
  const Var v = given(tape, {3}), wrong = given(tape, {2}), elsewhere = given(other, {3});
  const Var y = v * v, constant = stop_gradient(y);
  const int before = tape.size();
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message([&] { hessian_vector(y, {v}, {}); }), "hessian_vector: 0 vectors for 1 values");
  EXPECT_EQ(message([&] { hessian_vector(y, {v, v}, {constant, y}); }),
            "hessian_vector: vector 1 depends on parameters or on a variable of differentiation: stop_gradient makes it a "
            "constant; jvp of gradients allows such vectors");
  EXPECT_EQ(message([&] { jvp(y, {v}, {wrong}); }), "jvp: vector 0 is double[2], but its value is double[3]");
  EXPECT_EQ(message([&] { jvp(y, {v}, {elsewhere}); }), "jvp: operands belong to different tapes");
  EXPECT_EQ(message([&] { hessian_vector(y, {}, {}); }), "hessian_vector: no values to differentiate with respect to");
  EXPECT_EQ(message([&] { vjp(y, {v}, wrong); }), "vjp: a cotangent of double[2] for a value of double[3]");
  EXPECT_EQ(message([&] { vjp(y, {v}, elsewhere); }), "vjp: operands belong to different tapes");
  EXPECT_EQ(tape.size(), before);
}

}  // namespace eager_products_test
