// Every update rule: 50 steps in double against its formula written out, and against PyTorch.
#include <gtest/gtest.h>

#include <cmath>

#include <gradual/autodiff/reference.hpp>

#include "../reference/optimizers.hpp"
#include "../rules.hpp"

namespace optimizers_test {

using namespace models;

constexpr std::size_t elements = 4;
using Row = std::vector<double>;

/// Returns the gradient of a quadratic of uneven curvature, a curved valley (Rosenbrock 1960), or a plateau with a kink.
Row gradient(int objective, const Row& p) {
  Row g(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double next = i + 1 < p.size() ? p[i + 1] - p[i] * p[i] : 0, before = i > 0 ? p[i] - p[i - 1] * p[i - 1] : 0;
    if (objective == 0) g[i] = (1.0 + 10.0 * static_cast<double>(i)) * p[i];
    else if (objective == 1) g[i] = -4 * p[i] * next - 2 * (1 - p[i]) * (i + 1 < p.size()) + 2 * before;
    else g[i] = std::tanh(5 * p[i]) * (p[i] > -0.5 ? 1 : 0.1);
  }
  return g;
}

/// Updates one element, p and its states, by the formula.
template <class Rule>
void expected(const Rule& rule, double& p, double g, double* s, double t);

/// Returns a rule's number as given to PyTorch: rounded to float.
double at(const Scalar& scalar, std::int64_t step = 0) { return static_cast<float>(scalar.at(step)); }
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

/// Updates all elements, which belong to one parameter.
template <class Rule>
void expected_of_all(const Rule& rule, Row& p, const Row& g, std::vector<Row>& s, double t) {
  for (std::size_t i = 0; i < elements; ++i) expected(rule, p[i], g[i], s[i].data(), t);
}

/// Sums in canonical order, since Adafactor and L-BFGS amplify rounding.
double dot(const Row& a, const Row& b) { return (a[0] * b[0] + a[2] * b[2]) + (a[1] * b[1] + a[3] * b[3]); }
double norm_of(const Row& x) { return std::sqrt(dot(x, x)); }

template <>
void expected_of_all(const Lamb& r, Row& p, const Row& g, std::vector<Row>& s, double t) {
  Row direction(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    s[i][0] = at(r.beta1) * s[i][0] + (1 - at(r.beta1)) * g[i];
    s[i][1] = at(r.beta2) * s[i][1] + (1 - at(r.beta2)) * g[i] * g[i];
    direction[i] = s[i][0] / corrected(at(r.beta1), t) / (std::sqrt(s[i][1] / corrected(at(r.beta2), t)) + at(r.epsilon)) +
                   at(r.weight_decay) * p[i];
  }
  const double ratio = norm_of(p) / norm_of(direction);
  for (std::size_t i = 0; i < elements; ++i) p[i] -= at(r.learning_rate) * ratio * direction[i];
}
template <>
void expected_of_all(const Lars& r, Row& p, const Row& g, std::vector<Row>& s, double) {
  const double size = norm_of(p), decay = at(r.weight_decay);
  const double rate = at(r.learning_rate) * at(r.trust) * size / (norm_of(g) + decay * size);
  for (std::size_t i = 0; i < elements; ++i) {
    s[i][0] = at(r.momentum) * s[i][0] + rate * (g[i] + decay * p[i]);
    p[i] -= s[i][0];
  }
}
template <>
void expected_of_all(const Lbfgs& r, Row& p, const Row& g, std::vector<Row>& s, double t) {
  Row step(elements), change(elements), direction(elements);
  std::vector<Row> steps, changes;
  for (std::size_t i = 0; i < elements; ++i) change[i] = g[i] - s[i][0], step[i] = s[i][1], direction[i] = -g[i];
  const bool counts = dot(change, step) > 1e-10;
  if (counts) steps = {step}, changes = {change};
  for (std::size_t k = 2; k < s[0].size(); k += 2) {
    for (std::size_t i = 0; i < elements; ++i) step[i] = s[i][k], change[i] = s[i][k + 1];
    if (dot(change, step) > 0) steps.push_back(step), changes.push_back(change);
  }
  steps.resize(std::min<std::size_t>(steps.size(), 5));
  Row share(steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    share[k] = 1 / dot(changes[k], steps[k]) * dot(steps[k], direction);
    for (std::size_t i = 0; i < elements; ++i) direction[i] -= share[k] * changes[k][i];
  }
  if (!steps.empty())
    for (double& d : direction) d *= dot(changes[0], steps[0]) / dot(changes[0], changes[0]);
  for (std::size_t k = steps.size(); k-- > 0;) {
    const double rest = share[k] - 1 / dot(changes[k], steps[k]) * dot(changes[k], direction);
    for (std::size_t i = 0; i < elements; ++i) direction[i] += rest * steps[k][i];
  }
  double length = 0;
  for (const double x : g) length += std::abs(x);
  const double rate = dot(g, direction) > 0 ? 0 : at(r.learning_rate) * (t == 1 ? std::min(1.0, 1 / length) : 1);
  for (std::size_t i = 0; i < elements; ++i) {
    p[i] += rate * direction[i];
    s[i][0] = g[i], s[i][1] = rate * direction[i];
    for (std::size_t k = 0; k < steps.size(); ++k) s[i][2 + 2 * k] = steps[k][i], s[i][3 + 2 * k] = changes[k][i];
  }
}

template <>
void expected_of_all(const Adafactor& r, Row& p, const Row& g, std::vector<Row>& s, double t) {
  const double share = std::pow(t, at(r.variance_decay)), size = norm_of(p) / std::sqrt(elements);
  Row u(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    s[i][0] = (1 - share) * s[i][0] + share * (g[i] * g[i]);
    u[i] = g[i] / std::sqrt(std::max(s[i][0], at(r.epsilon1) * at(r.epsilon1)));
  }
  const double length = std::max(at(r.epsilon2), size) * std::min(at(r.learning_rate), 1 / std::sqrt(t));
  const double clip = std::max(1.0, norm_of(u) / (std::sqrt(elements) * at(r.clipping)));
  for (std::size_t i = 0; i < elements; ++i)
    p[i] = p[i] * (1 - at(r.learning_rate) * at(r.weight_decay)) - length / clip * u[i];
}
template <>
void expected_of_all(const Muon& r, Row& p, const Row& g, std::vector<Row>& s, double t) {  // one axis: AdamW
  expected_of_all(r.others, p, g, s, t);
}
template <>
void expected_of_all(const Shampoo& r, Row& p, const Row& g, std::vector<Row>& s, double t) {  // one axis: Adagrad
  expected_of_all(Adagrad{.learning_rate = r.learning_rate, .weight_decay = r.weight_decay}, p, g, s, t);
}

/// Calls see(step, parameters) after each step of the traced rule, run in double by the reference interpreter.
template <class Rule, class See>
void run_traced(const Rule& rule, const Shape& shape, int objective, See see) {
  constexpr int states = detail::state_size<StateOf<Rule>>();
  const ParameterInfo parameter{"p", shape, {}};
  const Tape tape = trace_update(rule, std::span(&parameter, 1));
  std::vector<Row> traced;  // of one parameter, whose part is the whole row
  for (int a = 0; a < states + 2; ++a) traced.emplace_back(tape.inputs[static_cast<std::size_t>(a)].shape.unit(), 0.0);
  traced[0].assign(reference::start, reference::start + shape.unit());
  for (int step = 1; step <= reference::steps; ++step) {
    traced[1] = gradient(objective, traced[0]);
    Row scalars = {1.0, static_cast<double>(step)};
    for (std::size_t s = rule_scalars; s < tape.scalars.size(); ++s) scalars.push_back(at(tape.scalars[s], step - 1));
    std::vector<Row> inputs = traced;
    inputs.insert(inputs.end(), traced.begin(), traced.end());
    const Reference<double> reference(tape, 1, inputs, {}, scalars);
    for (const Root& root : tape.roots) traced[static_cast<std::size_t>(root.index) % (states + 2)] = reference[root.node];
    see(step, traced[0]);
  }
}

void expect_near(const Row& got, const double* expected, int objective, int step) {
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], 1e-12 * std::max(1.0, std::abs(expected[i])))
        << "objective " << objective << ", step " << step;
}

template <class Rule>
void expect_formula(const Rule& rule) {
  constexpr int states = detail::state_size<StateOf<Rule>>();
  for (int objective = 0; objective < 3; ++objective) {
    Row formula(reference::start, reference::start + elements);
    std::vector<Row> state(elements, Row(std::max(states, 1), 0.0));
    run_traced(rule, Shape{elements}, objective, [&](int step, const Row& got) {
      const Row g = gradient(objective, formula);
      expected_of_all(rule, formula, g, state, step);
      expect_near(got, formula.data(), objective, step);
    });
  }
}

TEST(Rules, FollowPyTorch) {
  int compared = 0;
  reference::for_each_trajectory([&](const auto& rule, const reference::Trajectory& trajectory) {
    for (int objective = 0; objective < 3; ++objective)
      run_traced(rule, trajectory.shape, objective, [&](int step, const Row& got) {
        expect_near(got, trajectory.after(step, objective), objective, step);
        ++compared;
      });
  });
  EXPECT_EQ(compared, 26 * 3 * reference::steps);
}

template <class Rule>
class FormulaOf : public testing::Test {};
TYPED_TEST_SUITE(FormulaOf, EveryRule::to<testing::Types>);

TYPED_TEST(FormulaOf, FollowsItsFormula) {
  expect_formula(TypeParam{});
  expect_formula(with_all_numbers<TypeParam>());
}

TYPED_TEST(FormulaOf, GoesTheSameWayInsideAdaptersThatChangeNothing) {
  const TypeParam rule = with_all_numbers<TypeParam>();
  const Lookahead inner{WeightDecay{ScaleUpdate{ClipByValue{ClipByGlobalNorm{rule, 1e30}, 1e30}, 3.0}, 0.0}, Scalar(0.0)};
  std::vector<Row> alone, inside;
  run_traced(rule, Shape{2, 3}, 1, [&](int, const Row& got) { alone.push_back(got); });
  run_traced(Ema{inner}, Shape{2, 3}, 1, [&](int, const Row& got) { inside.push_back(got); });
  EXPECT_EQ(alone, inside);
}

/// Returns a parameter of one element after the first step.
template <class T, class Rule>
T after_one_step(const Rule& rule, T parameter, T gradient) {
  const Tape tape = trace_update(rule, 1);
  std::vector<T> scalars = {1, 1};
  for (std::size_t s = rule_scalars; s < tape.scalars.size(); ++s) scalars.push_back(static_cast<T>(tape.scalars[s].at(0)));
  std::vector<std::vector<T>> inputs(tape.inputs.size(), std::vector<T>{T(0)});
  inputs[0] = {parameter}, inputs[1] = {gradient};
  const std::size_t half = inputs.size() / 2;  // from there on: the parts of the only parameter
  if (tape.roots[0].index != 0) inputs[half] = {parameter}, inputs[half + 1] = {gradient};
  return Reference<T>(tape, 1, inputs, {}, scalars)[tape.roots[0].node][0];
}

TYPED_TEST(FormulaOf, AGradientOfZeroMovesNothingWithoutDecay) {  // case 32
  TypeParam rule{};
  if constexpr (requires { rule.weight_decay; }) rule.weight_decay = 0.0f;
  EXPECT_EQ(after_one_step(rule, 0.75f, 0.0f), 0.75f);
}

TYPED_TEST(FormulaOf, ARateThatIsNegativeOrNoNumberIsRefused) {
  for (const double rate : {-0.1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    TypeParam rule{};
    rule.learning_rate = rate;
    EXPECT_THROW(check_rates(rule), OptionError) << rate;
  }
}

/// Returns by how much each of `gradients`, given as a window, moves the parameters of a session.
template <class Rule>
std::vector<Row> moves(const Rule& rule, const std::vector<std::vector<float>>& gradients) {
  const auto count = static_cast<std::int64_t>(gradients[0].size());
  Parameters parameters(Device::cpu());
  const Parameter p = parameters.root().parameter("p", Shape{count}, init::constant(0));
  Session session(parameters, Accumulate{rule}, {.global_batch = 1});
  std::vector<Row> moved;
  for (const std::vector<float>& gradient : gradients) {
    const Row before(parameters.values().begin(), parameters.values().end());
    session.accumulate(1, [&](EagerTape& tape) {
      const Var x = tape.input(gradient, {count});
      return Loss(sum(x * p, {1}));
    });
    Row& move = moved.emplace_back(parameters.values().begin(), parameters.values().end());
    for (std::size_t i = 0; i < move.size(); ++i) move[i] -= before[i];
  }
  return moved;
}

TEST(Rules, RAdamKnowsInFloatWhatItKnowsInDouble) {
  for (const float beta2 : {0.999f, 0.9999f, 0.99999f}) {
    const RAdam rule{.learning_rate = 0.01f, .beta2 = beta2};
    Row p(1, 0.0);
    double state[2] = {};
    const std::vector<Row> moved = moves(rule, std::vector<std::vector<float>>(12, {1.0f}));
    for (int step = 1; step <= 12; ++step) {
      const double before = p[0];
      expected(rule, p[0], 1.0, state, step);
      EXPECT_NEAR(moved[static_cast<std::size_t>(step - 1)][0], p[0] - before, 2e-4 * std::abs(p[0] - before))
          << beta2 << ", step " << step;
    }
  }
}

TEST(Rules, LbfgsBeginsWithTheFirstGradientThatIsNotZero) {  // values of torch.optim.LBFGS, tolerances 0
  const std::vector<Row> moved = moves(Lbfgs{.learning_rate = 1.0f}, {{0, 0}, {30, 40}, {0, 0}, {3, 4}});
  EXPECT_EQ(moved[0], Row(2, 0.0));
  EXPECT_NEAR(moved[1][0], -0.428571, 1e-6);
  EXPECT_EQ(moved[2], Row(2, 0.0));
  EXPECT_NEAR(moved[3][0], -0.476190 + 0.428571, 1e-6);
  EXPECT_NEAR(moved[3][1], -0.634921 + 0.571429, 1e-6);
}

TEST(Rules, FirstStepsAtTheEdges) {  // case 32
  const double rate = 0.1;
  EXPECT_NEAR(after_one_step(Adam{.learning_rate = rate, .epsilon = 1e-8}, 0.0, 1e-8), -rate / 2, 1e-15);
  EXPECT_EQ(after_one_step(Adam{.learning_rate = rate, .epsilon = 1e-8}, 1.0, 0.0), 1);
  EXPECT_NEAR(after_one_step(AdamW{.learning_rate = rate, .weight_decay = 0.1}, 1.0, 0.0), 0.99, 1e-15);
}

}  // namespace optimizers_test
