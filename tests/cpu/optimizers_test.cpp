// Every update rule: 50 steps in double against its formula written out, and no bit that depends on a window's split.
#include <gtest/gtest.h>

#include <cmath>

#include <gradual/autodiff/reference.hpp>

#include "../models.hpp"
#include "../reference/optimizers.hpp"

using namespace models;

namespace {

constexpr std::size_t elements = 4;
using Row = std::vector<double>;

/// Gradients of a bowl of uneven curvature, of a curved valley (Rosenbrock 1960), and of a plateau with a kink.
Row gradient(int objective, const Row& p) {
  Row g(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const double next = i + 1 < elements ? p[i + 1] - p[i] * p[i] : 0, before = i > 0 ? p[i] - p[i - 1] * p[i - 1] : 0;
    if (objective == 0) g[i] = (1.0 + 10.0 * static_cast<double>(i)) * p[i];
    else if (objective == 1) g[i] = -4 * p[i] * next - 2 * (1 - p[i]) * (i + 1 < elements) + 2 * before;
    else g[i] = std::tanh(5 * p[i]) * (p[i] > -0.5 ? 1 : 0.1);
  }
  return g;
}

/// One element's update by the formula: p and the states change.
template <class Rule>
void expected(const Rule& rule, double& p, double g, double* s, double t);

double at(const Scalar& scalar) { return scalar.at(0); }
double corrected(double beta, double t) { return 1 - std::pow(beta, t); }

template <>
void expected(const Sgd& r, double& p, double g, double* s, double t) {
  g += at(r.weight_decay) * p;
  s[0] = at(r.momentum) * s[0] + (t == 1 ? 1 : 1 - at(r.dampening)) * g;
  p -= at(r.learning_rate) * (r.nesterov ? g + at(r.momentum) * s[0] : s[0]);
}
template <>
void expected(const Adam& r, double& p, double g, double* s, double t) {
  g += at(r.weight_decay) * p;
  s[0] = at(r.beta1) * s[0] + (1 - at(r.beta1)) * g;
  s[1] = at(r.beta2) * s[1] + (1 - at(r.beta2)) * g * g;
  p -= at(r.learning_rate) * (s[0] / corrected(at(r.beta1), t)) / (std::sqrt(s[1] / corrected(at(r.beta2), t)) + at(r.epsilon));
}
template <>
void expected(const AdamW& r, double& p, double g, double* s, double t) {
  p *= 1 - at(r.learning_rate) * at(r.weight_decay);
  expected(Adam{r.learning_rate, r.beta1, r.beta2, r.epsilon}, p, g, s, t);
}
template <>
void expected(const NAdam& r, double& p, double g, double* s, double t) {
  g += at(r.weight_decay) * p;
  const auto mu = [&](double step) { return at(r.beta1) * (1 - 0.5 * std::pow(0.96, step * at(r.momentum_decay))); };
  s[0] = at(r.beta1) * s[0] + (1 - at(r.beta1)) * g;
  s[1] = at(r.beta2) * s[1] + (1 - at(r.beta2)) * g * g;
  s[2] = (t == 1 ? 1 : s[2]) * mu(t);
  const double divisor = std::sqrt(s[1] / corrected(at(r.beta2), t)) + at(r.epsilon);
  p -= at(r.learning_rate) * ((1 - mu(t)) / (1 - s[2]) * g + mu(t + 1) / (1 - s[2] * mu(t + 1)) * s[0]) / divisor;
}
template <>
void expected(const RAdam& r, double& p, double g, double* s, double t) {
  g += at(r.weight_decay) * p;
  s[0] = at(r.beta1) * s[0] + (1 - at(r.beta1)) * g;
  s[1] = at(r.beta2) * s[1] + (1 - at(r.beta2)) * g * g;
  const double most = 2 / (1 - at(r.beta2)) - 1;
  const double known = most - 2 * t * std::pow(at(r.beta2), t) / corrected(at(r.beta2), t);
  double step = at(r.learning_rate) * s[0] / corrected(at(r.beta1), t);
  if (known > 5)
    step *= std::sqrt((known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known)) *
            std::sqrt(corrected(at(r.beta2), t)) / (std::sqrt(s[1]) + at(r.epsilon));
  p -= step;
}
template <>
void expected(const AmsGrad& r, double& p, double g, double* s, double t) {
  g += at(r.weight_decay) * p;
  s[0] = at(r.beta1) * s[0] + (1 - at(r.beta1)) * g;
  s[1] = at(r.beta2) * s[1] + (1 - at(r.beta2)) * g * g;
  s[2] = std::max(s[2], s[1]);
  p -= at(r.learning_rate) * (s[0] / corrected(at(r.beta1), t)) / (std::sqrt(s[2] / corrected(at(r.beta2), t)) + at(r.epsilon));
}
template <>
void expected(const Adamax& r, double& p, double g, double* s, double t) {
  g += at(r.weight_decay) * p;
  s[0] = at(r.beta1) * s[0] + (1 - at(r.beta1)) * g;
  s[1] = std::max(at(r.beta2) * s[1], std::abs(g) + at(r.epsilon));
  p -= at(r.learning_rate) / corrected(at(r.beta1), t) * s[0] / s[1];
}
template <>
void expected(const RmsProp& r, double& p, double g, double* s, double) {
  g += at(r.weight_decay) * p;
  s[0] = at(r.alpha) * s[0] + (1 - at(r.alpha)) * g * g;
  s[1] = at(r.alpha) * s[1] + (1 - at(r.alpha)) * g;
  s[2] = at(r.momentum) * s[2] + g / (std::sqrt(s[0] - (r.centered ? s[1] * s[1] : 0)) + at(r.epsilon));
  p -= at(r.learning_rate) * s[2];
}
template <>
void expected(const Adagrad& r, double& p, double g, double* s, double t) {
  g += at(r.weight_decay) * p;
  s[0] += g * g;
  p -= at(r.learning_rate) / (1 + (t - 1) * at(r.learning_rate_decay)) * g / (std::sqrt(s[0]) + at(r.epsilon));
}
template <>
void expected(const Adadelta& r, double& p, double g, double* s, double) {
  g += at(r.weight_decay) * p;
  s[0] = at(r.rho) * s[0] + (1 - at(r.rho)) * g * g;
  const double d = g * std::sqrt(s[1] + at(r.epsilon)) / std::sqrt(s[0] + at(r.epsilon));
  s[1] = at(r.rho) * s[1] + (1 - at(r.rho)) * d * d;
  p -= at(r.learning_rate) * d;
}
template <>
void expected(const Lion& r, double& p, double g, double* s, double) {
  const double c = at(r.beta1) * s[0] + (1 - at(r.beta1)) * g;
  p = p * (1 - at(r.learning_rate) * at(r.weight_decay)) - at(r.learning_rate) * ((c > 0) - (c < 0));
  s[0] = at(r.beta2) * s[0] + (1 - at(r.beta2)) * g;
}

/// Calls see(step, parameters) after each of 50 steps of the traced rule, run in double by the reference interpreter.
template <class Rule, class See>
void run_traced(const Rule& rule, int objective, See see) {
  constexpr int states = detail::state_size<StateOf<Rule>>();
  const Tape tape = trace_update(rule, elements);
  std::vector<Row> traced(states + 2, Row(elements, 0.0));
  traced[0] = {1.3, -0.8, 0.4, -1.1};
  for (int step = 1; step <= 50; ++step) {
    traced[1] = gradient(objective, traced[0]);
    Row scalars = {1.0, static_cast<double>(step)};
    for (std::size_t s = rule_scalars; s < tape.scalars.size(); ++s) scalars.push_back(tape.scalars[s].at(step - 1));
    const Reference<double> reference(tape, 1, traced, {}, scalars);
    for (int r = 0; r <= states; ++r) traced[static_cast<std::size_t>(r == 0 ? 0 : r + 1)] = reference.root(Role::value, r);
    see(step, traced[0]);
  }
}

void expect_near(const Row& got, const double* expected, int objective, int step) {
  for (std::size_t i = 0; i < elements; ++i)
    ASSERT_NEAR(got[i], expected[i], 1e-12 * std::max(1.0, std::abs(expected[i]))) << "objective " << objective << ", step " << step;
}

template <class Rule>
void expect_formula(const Rule& rule) {
  constexpr int states = detail::state_size<StateOf<Rule>>();
  for (int objective = 0; objective < 3; ++objective) {
    Row formula = {1.3, -0.8, 0.4, -1.1};
    std::vector<Row> state(elements, Row(std::max(states, 1), 0.0));
    run_traced(rule, objective, [&](int step, const Row& got) {
      const Row g = gradient(objective, formula);
      for (std::size_t i = 0; i < elements; ++i) expected(rule, formula[i], g[i], state[i].data(), step);
      expect_near(got, formula.data(), objective, step);
    });
  }
}

TEST(Rules, FollowPyTorch) {
  int compared = 0;
  reference::for_each_trajectory([&](const auto& rule, const reference::Trajectory& trajectory) {
    for (int objective = 0; objective < 3; ++objective) {
      const double(*row)[4] = trajectory.parameters[objective];
      const int* next = reference::steps;
      run_traced(rule, objective, [&](int step, const Row& got) {
        if (next == std::end(reference::steps) || step != *next) return;
        expect_near(got, *row++, objective, step);
        ++next, ++compared;
      });
    }
  });
  EXPECT_EQ(compared, 12 * 3 * 6);
}

template <class Rule>
void expect_no_differing_bits(const Rule& rule) {
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  const auto trained = [&](const std::vector<std::size_t>& split) {
    Session session(ClassifierNet{}, Accumulate{rule}, {.global_batch = 512, .seed = 7});
    for (int step = 0; step < 20; ++step)
      for (std::size_t at = 0; std::size_t part : split) {
        session.accumulate(std::span(x).subspan(at * 9, part * 9), std::span(y).subspan(at, part));
        at += part;
      }
    EXPECT_EQ(session.step_count(), 20);
    std::vector<std::byte> state(session.parameter_bytes().begin(), session.parameter_bytes().end());
    state.insert(state.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
    return state;
  };
  const auto whole = trained({512});
  EXPECT_EQ(differing_bits(whole, trained(std::vector<std::size_t>(8, 64))), 0);
  EXPECT_EQ(differing_bits(whole, trained({7, 100, 1, 300, 104})), 0);
}

template <class Rule>
class EveryRule : public testing::Test {};
using Rules = testing::Types<Sgd, Adam, AdamW, NAdam, RAdam, AmsGrad, Adamax, RmsProp, Adagrad, Adadelta, Lion>;
TYPED_TEST_SUITE(EveryRule, Rules);

TYPED_TEST(EveryRule, FollowsItsFormula) {
  expect_formula(TypeParam{});
  TypeParam decayed{};
  if constexpr (requires { decayed.weight_decay; }) decayed.weight_decay = 0.05f;
  if constexpr (requires { decayed.momentum; }) decayed.momentum = 0.7f;
  if constexpr (requires { decayed.nesterov; }) decayed.nesterov = true;
  if constexpr (requires { decayed.dampening; }) decayed.dampening = 0.3f;
  if constexpr (requires { decayed.centered; }) decayed.centered = true;
  if constexpr (requires { decayed.learning_rate_decay; }) decayed.learning_rate_decay = 0.1f;
  decayed.learning_rate = 0.02f;
  expect_formula(decayed);
}

TYPED_TEST(EveryRule, EndsInTheSameBitsHoweverTheWindowIsSplit) { expect_no_differing_bits(TypeParam{}); }

TYPED_TEST(EveryRule, AGradientOfZeroMovesNothingWithoutDecay) {  // case 32
  TypeParam rule{};
  if constexpr (requires { rule.weight_decay; }) rule.weight_decay = 0.0f;
  const Tape tape = trace_update(rule, 1);
  std::vector<float> scalars = {1, 1};
  for (std::size_t s = rule_scalars; s < tape.scalars.size(); ++s) scalars.push_back(static_cast<float>(tape.scalars[s].at(0)));
  std::vector<std::vector<float>> inputs(tape.inputs.size(), std::vector<float>{0.0f});
  inputs[0] = {0.75f};
  EXPECT_EQ(Reference<float>(tape, 1, inputs, {}, scalars).root(Role::value)[0], 0.75f);
}

}  // namespace
