// Kinks and singularities: values and gradients, cases 17 to 25 of the hard cases as far as the ops exist.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include <gradual/autodiff/reference.hpp>
#include <gradual/autodiff/trace.hpp>

using namespace gradual;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
using Values = std::vector<double>;

struct Result {
  Values value;
  std::vector<Values> gradient;
};

/// Values of f, and the gradients of the sum of what it gives, `upstream` at each element.
template <class T = double>
Result run(const std::function<Var(std::vector<Var>)>& f, const std::vector<Values>& at, double upstream = 1) {
  Tape tape;
  std::vector<Var> in;
  std::vector<int> targets;
  std::vector<std::vector<T>> inputs;
  for (const Values& v : at) {
    in.push_back(input(tape, Shape{static_cast<std::int64_t>(v.size())}, DType::f64));
    targets.push_back(in.back().id);
    inputs.emplace_back(v.begin(), v.end());
  }
  const Var y = f(in);
  tape.first_adjoint = tape.size();
  const auto adjoint = backward(y, constant_like(y, upstream), targets);
  const Reference<T> reference(tape, 1, inputs, {});
  Result result{{reference[y.id].begin(), reference[y.id].end()}, {}};
  for (std::size_t k = 0; k < at.size(); ++k) {
    const Var g = adjoint[static_cast<std::size_t>(targets[k])];
    result.gradient.push_back(g.valid() ? Values(reference[g.id].begin(), reference[g.id].end()) : Values(at[k].size(), 0.0));
  }
  return result;
}

double gradient_at(Var (*f)(Var), double x, double upstream = 1) {
  return run([&](auto in) { return f(in[0]); }, {{x}}, upstream).gradient[0][0];
}
double value_at(Var (*f)(Var), double x) { return run([&](auto in) { return f(in[0]); }, {{x}}).value[0]; }

TEST(Kinks, Case17) {
  EXPECT_EQ(gradient_at(relu, 0.0), 0);
  EXPECT_EQ(gradient_at(relu, -0.0), 0);
  EXPECT_EQ(gradient_at(abs, 0.0), 0);
  EXPECT_EQ(gradient_at(abs, -0.0), 0);
  for (double bound : {-1.0, 2.0}) EXPECT_EQ(run([](auto in) { return clamp(in[0], -1, 2); }, {{bound}}).gradient[0][0], 1);
  const Result tie = run([](auto in) { return maximum(in[0], in[1]); }, {{3}, {3}});
  EXPECT_EQ(tie.gradient[0][0], 0.5);
  EXPECT_EQ(tie.gradient[1][0], 0.5);
  EXPECT_EQ(run([](auto in) { return max(in[0], {0}); }, {{1, 1, 0}}).gradient[0], (Values{0.5, 0.5, 0}));
}

TEST(Singularities, Case18And20) {
  EXPECT_EQ(gradient_at(sqrt, 0), inf);
  EXPECT_EQ(gradient_at(sqrt, 0, 0), 0);
  EXPECT_NEAR(gradient_at(sqrt, 1.145e-312) / 4.67e155, 1, 1e-3);
  EXPECT_EQ(value_at(log, 0), -inf);
  EXPECT_EQ(gradient_at(log, 0), inf);
  EXPECT_EQ(gradient_at(log, 0, 0), 0);
}

TEST(Powers, Case19) {
  const auto power = [](double a, double b) { return run([](auto in) { return pow(in[0], in[1]); }, {{a}, {b}}); };
  EXPECT_EQ(power(0, 0).value[0], 1);
  EXPECT_EQ(power(0, 0).gradient[0][0], 0);
  EXPECT_EQ(power(0, 0).gradient[1][0], 0);
  EXPECT_EQ(power(0, -1).value[0], inf);
  EXPECT_EQ(power(0, -1).gradient[0][0], -inf);
  EXPECT_EQ(power(-2, 3).value[0], -8);
  EXPECT_EQ(power(-2, 3).gradient[0][0], 12);
  EXPECT_TRUE(std::isnan(power(-2, 3).gradient[1][0]));
  EXPECT_EQ(power(0, 0.5).gradient[0][0], inf);
}

TEST(Where, Case21) {
  const auto guarded = [](std::vector<Var> in) { return where(in[0] > 0.0, 1.0 / in[0], 0.0); };
  EXPECT_EQ(run(guarded, {{0}}).value[0], 0);
}

TEST(Softmax, Case22) {
  const Result p = run([](auto in) { return softmax(in[0]); }, {{1000, 1001, 1002}});
  EXPECT_NEAR(p.value[0], .090030573170, 1e-12);
  EXPECT_NEAR(p.value[1], .244728471055, 1e-12);
  EXPECT_NEAR(p.value[2], .665240955775, 1e-12);
  for (double v : run([](auto in) { return softmax(in[0]); }, {{-inf, -inf}}).value) EXPECT_TRUE(std::isnan(v));
  const Result l = run([](auto in) { return logsumexp(in[0]); }, {{1000, 1000}});
  EXPECT_NEAR(l.value[0], 1000.6931471805599, 1e-12);
  EXPECT_EQ(l.gradient[0], (Values{0.5, 0.5}));
  const Result none = run([](auto in) { return logsumexp(in[0]); }, {{-inf, -inf}});
  EXPECT_EQ(none.value[0], -inf);
  EXPECT_EQ(none.gradient[0], (Values{0, 0}));
}

TEST(CrossEntropy, Case23) {
  for (int target = 0; target < 2; ++target) {
    Tape tape;
    Var scores = input(tape, Shape::per_sample({3}), DType::f64), label = input(tape, Shape::per_sample({}), DType::i32);
    Var y = cross_entropy(scores, label);
    tape.first_adjoint = tape.size();
    const Var g = backward(y, constant_like(y, 1), {scores.id})[static_cast<std::size_t>(scores.id)];
    const Reference<double> at(tape, 1, {{0, -inf, 0}, {static_cast<double>(target)}}, {});
    if (target == 1) {
      EXPECT_EQ(at[y.id][0], inf);
    } else {
      EXPECT_NEAR(at[y.id][0], std::log(2.0), 1e-15);
      EXPECT_EQ(at[g.id], (Values{-0.5, 0, 0.5}));
    }
  }
}

TEST(Stable, Case24) {
  EXPECT_EQ(value_at(softplus, 1000), 1000);
  EXPECT_EQ(value_at(softplus, -1000), 0);
  EXPECT_EQ(gradient_at(softplus, 1000), 1);
  EXPECT_EQ(gradient_at(softplus, -1000), 0);
  EXPECT_EQ(value_at(log_sigmoid, -1000), -1000);
  EXPECT_EQ(gradient_at(log_sigmoid, -1000), 1);
  EXPECT_EQ(gradient_at(sigmoid, -800), 0);
  const Result bce = run([](auto in) { return bce_with_logits(reshape(in[0], Shape{1, 1}), reshape(in[1], Shape{1, 1})); }, {{1000}, {0}});
  EXPECT_EQ(bce.value[0], 1000);
}

TEST(NaN, StaysInItsElement) {  // case 30
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(value_at(relu, nan)));
  EXPECT_TRUE(std::isnan(run([](auto in) { return clamp(in[0], -1, 1); }, {{nan}}).value[0]));
  EXPECT_TRUE(std::isnan(run([](auto in) { return max(in[0], {0}); }, {{1, nan, 2}}).value[0]));
}

}  // namespace
