// Derivatives inside a model: which ones are possible, and the errors of all others.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "../error_of.hpp"
#include "../models.hpp"

namespace model_gradients_test {

using namespace models;

void expect_error(const std::string& text, const std::function<void()>& call) { EXPECT_EQ(error_of<Error>(call), text); }

TEST(Gradients, ByAViewThatWasPassedByAreRefused) {
  const auto refused = [](const Var& y, const Var& v, const std::string& view, const std::string& shown) {
    expect_error("gradients: value 0, float" + view + ", is a view of float" + shown + ", but the differentiated value was "
                 "computed from that, not from the view: differentiate with respect to that, and slice the derivative",
                 [&] { gradients(y, {v}); });
  };
  Tape tape;
  const Var x = input(tape, Shape::per_sample({2}), DType::f32), first = slice(x, 1, 0, 1), second = slice(x, 1, 1, 1);
  const Var squares = sum(square(x), {1}, true), product = first * square(second);
  refused(squares, first, "[batch, 1]", "[batch, 2]");
  refused(squares, slice(x, 1, 0, 1), "[batch, 1]", "[batch, 2]");  // sliced afterwards
  refused(product, select(x, 1, 0), "[batch]", "[batch, 2]");       // another slice of the same place
  refused(squares, broadcast(reshape(x, Shape::per_sample({1, 2})), Shape::per_sample({2, 2})), "[batch, 2, 2]", "[batch, 2]");
  refused(first * first, reshape(first, Shape::per_sample({})), "[batch]", "[batch, 1]");
  const Var ruled = with_vjp(squares * sum(first, {1}, true), {x}, [](Var g, Var of, Var) { return g * of; });
  refused(ruled, first, "[batch, 1]", "[batch, 2]");  // it was computed from the view, but is not differentiated by that
  const Var image = input(tape, Shape::per_sample({2, 3}), DType::f32);
  refused(square(slice(image, 2, 1, 1)), slice(image, 1, 0, 1), "[batch, 1, 3]", "[batch, 2, 3]");  // the slices overlap
  // Values computed from the view, from other places or from constants with respect to it have a derivative, possibly 0.
  EXPECT_FALSE(is<Constant>(gradients(product, {first})[0].node()));
  EXPECT_FALSE(is<Constant>(gradients(first * squares, {first})[0].node()));
  EXPECT_TRUE(is<Constant>(gradients(square(second), {first})[0].node()));
  const Var row = slice(image, 1, 0, 1), place = slice(row, 2, 1, 1);
  EXPECT_TRUE(is<Constant>(gradients(square(slice(row, 2, 0, 1)), {place})[0].node()));
  EXPECT_TRUE(is<Constant>(gradients(gradients(product, {first})[0], {first})[0].node()));
  EXPECT_TRUE(is<Constant>(gradients(second * stop_gradient(sum(x, {1}, true)), {first})[0].node()));
  EXPECT_TRUE(is<Constant>(gradients(select(second, 1, 0) * convert(argmax(x), DType::f32), {first})[0].node()));
}

TEST(Gradients, ByAConstantAreRefused) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({2}), DType::f32), step = constant_like(slice(x, 1, 0, 1), 0);
  expect_error("gradients: value 0, float[batch, 1], is a constant, of which broadcasting makes another: differentiate with "
               "respect to stop_gradient(constant), and compute from that", [&] { gradients(sin(x + step * x), {step}); });
  const Var along = stop_gradient(step);
  EXPECT_FALSE(is<Constant>(gradients(sin(x + along * x), {along})[0].node()));
}

TEST(Gradients, InsideAModelAreOfSamplesBySamples) {
  Tape tape;
  const nn::Linear layer(Scope(tape.parameters) / "hidden", 3, 1), unused(Scope(tape.parameters) / "unused", 3, 1);
  const Var x = input(tape, Shape::per_sample({3}), DType::f32), y = layer(x), later = x + 1.0;
  EXPECT_EQ(gradients(y, {x})[0].shape(), x.shape());
  expect_error("gradients: no values to differentiate with respect to (after layer 'hidden')", [&] { gradients(y, {}); });
  EXPECT_TRUE(is<Constant>(gradients(later, {y})[0].node()));
  expect_error("gradients: value 1, float[batch, 3], was computed after the differentiated value, which does not depend on it",
               [&] { gradients(y, {x, later}); });
  expect_error("matmul: contracting the sample axis of [3, batch] and [batch, 3] couples the samples of a batch",
               [&] { matmul(transpose(x, {1, 0}), x); });  // also after a derivative
  expect_error("gradients: those of samples with respect to a value without samples, [3, 1], are sums over the window, known "
               "only at its end (in layer 'hidden'): broadcast it, and differentiate by each sample's copy",
               [&] { gradients(y, {layer.weight().on(x)}); });
  EXPECT_EQ(gradients(sum(square(layer.weight().on(x)), {0, 1}), {layer.weight().on(x)})[0].shape(), (Shape{3, 1}));
  const Var weight = layer.weight().on(x), squares = sum(square(weight), {0, 1});
  EXPECT_TRUE(is<Constant>(gradients(squares, {unused.weight().on(x)})[0].node()));
  expect_error("gradients: those of samples with respect to a value without samples, [3, 1], are sums over the window, known "
               "only at its end (in layer 'hidden'): broadcast it, and differentiate by each sample's copy",
               [&] { hessian_vector(y, {weight}, {constant_like(weight, 1)}); });
  expect_error("hessian_vector: vector 0 depends on parameters or on a variable of differentiation (after layer 'hidden'): "
               "stop_gradient makes it a constant; jvp of gradients allows such vectors",
               [&] { hessian_vector(sum(x * x * x, {1}), {x}, {broadcast(layer.bias().on(x), x.shape())}); });
  const Var total = sum(x, {1});
  EXPECT_TRUE(hessian_vector(total * total, {total}, {convert(argmax(x * y), DType::f32)})[0].valid());
  expect_error("vjp: a cotangent of float[batch, 3] for a value of float[batch, 1]", [&] { vjp(y, {x}, x); });
  expect_error("gradients: an operand is an empty Var", [&] { gradients(y, {Var{}}); });
  expect_error("jvp: 0 vectors for 1 values", [&] { jvp(y, {x}, {}); });
}

}  // namespace model_gradients_test
