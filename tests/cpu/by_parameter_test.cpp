// Rules that reduce over each parameter: their formulas for parameters of several shapes, their sums in canonical order,
// the same bits compiled, eagerly and however windows are split, and their errors.
#include <gtest/gtest.h>

#include <cmath>

#include <gradual/autodiff/reference.hpp>

#include "../models.hpp"

namespace by_parameter_test {

using namespace models;

using Row = std::vector<double>;
const std::vector<ParameterInfo> declared = {
    {"wide", Shape{2, 3}, {}}, {"vector", Shape{3}, {}}, {"tall", Shape{4, 2}, {}}, {"number", Shape{}, {}}};

/// One parameter, its gradient and two states, updated by a formula.
struct Part {
  Shape shape;
  Row value, gradient, first, second;
};

double at(const Scalar& scalar) { return scalar.at(0); }
double norm_of(const Row& row) {
  double sum = 0;
  for (const double x : row) sum += x * x;
  return std::sqrt(sum);
}

void expected(const Lamb& r, Part& p, double t) {
  Row direction(p.value.size());
  for (std::size_t i = 0; i < p.value.size(); ++i) {
    p.first[i] = at(r.beta1) * p.first[i] + (1 - at(r.beta1)) * p.gradient[i];
    p.second[i] = at(r.beta2) * p.second[i] + (1 - at(r.beta2)) * p.gradient[i] * p.gradient[i];
    direction[i] = p.first[i] / (1 - std::pow(at(r.beta1), t)) /
                       (std::sqrt(p.second[i] / (1 - std::pow(at(r.beta2), t))) + at(r.epsilon)) +
                   at(r.weight_decay) * p.value[i];
  }
  const double ratio = norm_of(p.value) / norm_of(direction);
  for (std::size_t i = 0; i < p.value.size(); ++i) p.value[i] -= at(r.learning_rate) * ratio * direction[i];
}

void expected(const Lars& r, Part& p, double) {
  const double size = norm_of(p.value);
  const double rate = at(r.learning_rate) * at(r.trust) * size / (norm_of(p.gradient) + at(r.weight_decay) * size);
  for (std::size_t i = 0; i < p.value.size(); ++i) {
    p.first[i] = at(r.momentum) * p.first[i] + rate * (p.gradient[i] + at(r.weight_decay) * p.value[i]);
    p.value[i] -= p.first[i];
  }
}

/// X ← aX + (bA + cA²)X with A = XXᵀ, for a matrix whatever its shape: (bA + cA²)X = X(bB + cB²) with B = XᵀX.
Row orthogonal(Row x, std::size_t rows, std::size_t columns) {
  const double norm = std::max(norm_of(x), 1e-7);
  for (double& v : x) v /= norm;
  const auto times = [](const Row& a, const Row& b, std::size_t m, std::size_t k, std::size_t n) {
    Row c(m * n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j];
    return c;
  };
  for (int step = 0; step < 5; ++step) {
    Row turned(x.size());
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) turned[j * rows + i] = x[i * columns + j];
    const Row square = times(x, turned, rows, columns, rows);
    const Row once = times(square, x, rows, rows, columns), twice = times(square, once, rows, rows, columns);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 3.4445 * x[i] - 4.7750 * once[i] + 2.0315 * twice[i];
  }
  return x;
}

void expected(const Muon& r, Part& p, double t) {
  if (p.shape.rank != 2) {
    const AdamW& o = r.others;
    for (std::size_t i = 0; i < p.value.size(); ++i) {
      p.first[i] = at(o.beta1) * p.first[i] + (1 - at(o.beta1)) * p.gradient[i];
      p.second[i] = at(o.beta2) * p.second[i] + (1 - at(o.beta2)) * p.gradient[i] * p.gradient[i];
      p.value[i] -= at(o.learning_rate) * at(o.weight_decay) * p.value[i];
      p.value[i] -= at(o.learning_rate) * (p.first[i] / (1 - std::pow(at(o.beta1), t))) /
                    (std::sqrt(p.second[i] / (1 - std::pow(at(o.beta2), t))) + at(o.epsilon));
    }
    return;
  }
  const auto rows = static_cast<std::size_t>(p.shape.extent[0]), columns = static_cast<std::size_t>(p.shape.extent[1]);
  Row ahead(p.value.size());
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    p.first[i] = at(r.momentum) * p.first[i] + p.gradient[i];
    ahead[i] = r.nesterov ? p.gradient[i] + at(r.momentum) * p.first[i] : p.first[i];
  }
  const Row direction = orthogonal(ahead, rows, columns);
  const double scale = std::sqrt(std::max(1.0, static_cast<double>(columns) / static_cast<double>(rows)));
  for (std::size_t i = 0; i < ahead.size(); ++i)
    p.value[i] = p.value[i] * (1 - at(r.learning_rate) * at(r.weight_decay)) - at(r.learning_rate) * scale * direction[i];
}

/// Returns the gradient of a quadratic of uneven curvature with a different minimum for each element.
Row gradient(const Row& value, std::size_t salt) {
  Row g(value.size());
  for (std::size_t i = 0; i < value.size(); ++i)
    g[i] = (1 + static_cast<double>(i % 5)) * (value[i] - 0.3 * std::sin(static_cast<double>(7 * i + salt)));
  return g;
}

template <class Rule>
void expect_formula(const Rule& rule) {
  constexpr std::size_t arrays = 2 + detail::state_size<StateOf<Rule>>();
  const Tape tape = trace_update(rule, std::span(declared));
  std::vector<Part> parts;
  std::vector<Row> inputs(arrays);  // each whole array, then each parameter's part of it
  for (std::size_t p = 0; p < declared.size(); ++p) {
    const auto count = static_cast<std::size_t>(declared[p].shape.unit());
    Part part{declared[p].shape, Row(count), Row(count), Row(count, 0.0), Row(count, 0.0)};
    for (std::size_t i = 0; i < count; ++i) part.value[i] = std::cos(static_cast<double>(3 * i + 11 * p));
    parts.push_back(part);
    for (const Row& start : {part.value, part.gradient, part.first, part.second})
      if (inputs.size() < arrays * (p + 2)) inputs.push_back(start);
  }
  for (int step = 1; step <= 30; ++step) {
    for (std::size_t p = 0; p < parts.size(); ++p) {
      inputs[arrays * (p + 1) + 1] = gradient(inputs[arrays * (p + 1)], p);
      parts[p].gradient = gradient(parts[p].value, p);
      expected(rule, parts[p], step);
    }
    Row scalars = {1.0, static_cast<double>(step)};
    for (std::size_t s = rule_scalars; s < tape.scalars.size(); ++s) scalars.push_back(tape.scalars[s].at(step - 1));
    const Reference<double> reference(tape, 1, inputs, {}, scalars);
    EXPECT_EQ(tape.roots.size(), (arrays - 1) * declared.size());
    for (const Root& root : tape.roots) inputs[static_cast<std::size_t>(root.index)] = reference[root.node];
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (std::size_t i = 0; i < parts[p].value.size(); ++i)
        ASSERT_NEAR(inputs[arrays * (p + 1)][i], parts[p].value[i], 1e-12 * std::max(1.0, std::abs(parts[p].value[i])))
            << "step " << step << ", '" << declared[p].name.view() << "'";
  }
}

TEST(ByParameter, RulesFollowTheirFormulas) {
  expect_formula(Lamb{.learning_rate = 0.02f});
  expect_formula(Lamb{.learning_rate = 0.02f, .weight_decay = 0.0f});
  expect_formula(Lars{.learning_rate = 1.0f, .trust = 0.02f, .weight_decay = 0.05f});
  expect_formula(Muon{});
  expect_formula(Muon{.weight_decay = 0.1f, .nesterov = false, .others = {.learning_rate = 0.01f, .weight_decay = 0.02f}});
}

TEST(ByParameter, MuonsStepsAreNearlyOrthogonal) {
  for (const auto& [rows, columns] : {std::pair(8, 32), std::pair(32, 8)}) {
    const ParameterInfo matrix{"matrix", Shape{rows, columns}, {}};
    const Tape tape = trace_update(Muon{}, std::span(&matrix, 1));
    Row scalars = {1, 1};
    for (std::size_t s = rule_scalars; s < tape.scalars.size(); ++s) scalars.push_back(tape.scalars[s].at(0));
    const auto g = numbers(8 * 32);
    std::vector<Row> inputs(8, Row(8 * 32, 0.0));
    inputs[5].assign(g.begin(), g.end());
    const Reference<double> reference(tape, 1, inputs, {}, scalars);
    const Row& step = reference.root(Role::value, 4);
    const double length = 0.02 * std::sqrt(std::max(1.0, static_cast<double>(columns) / rows));
    for (int i = 0; i < 8; ++i)  // rows, or columns where there are fewer
      for (int j = 0; j < 8; ++j) {
        double product = 0;
        for (int k = 0; k < 32; ++k)
          product += rows == 8 ? step[static_cast<std::size_t>(i * 32 + k)] * step[static_cast<std::size_t>(j * 32 + k)]
                               : step[static_cast<std::size_t>(k * 8 + i)] * step[static_cast<std::size_t>(k * 8 + j)];
        EXPECT_NEAR(product / (length * length), i == j ? 1 : 0, i == j ? 0.5 : 0.25) << i << " " << j;
      }
  }
}

/// Keeps each parameter's norm beside it, and changes nothing.
struct Norms {
  struct State {
    Var norm;
  };
  constexpr auto operator()(Var parameter, Var, State) const { return update(parameter, State{norm_by_parameter(parameter)}); }
};

TEST(ByParameter, NormsAreSumsInCanonicalOrder) {
  Session session(ClassifierNet{}, Accumulate{Norms{}}, {.global_batch = 1, .seed = 3});
  session.accumulate(numbers(9), labels(1, 5));
  const auto* norms = reinterpret_cast<const float*>(session.optimizer_state_bytes().data());
  for (int p = 0; p < ClassifierNet::parameter_count; ++p) {
    const auto values = session.parameters()[p].values;
    float lane[canonical_lanes]{};
    for (std::size_t i = 0; i < values.size(); ++i) lane[i % canonical_lanes] += values[i] * values[i];
    for (int half = canonical_lanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(norms[ClassifierNet::parameter_offset(p) + static_cast<std::int64_t>(i)], std::sqrt(lane[0]));
  }
}

const auto x = numbers(512 * 9);
const auto y = labels(512, 5);

template <class Rule>
auto session_of(const Rule& rule, SessionOptions options) {
  options.seed = 7;
  return Session(ClassifierNet{}, Accumulate{rule}, options);
}

constexpr auto nest = Ema{ClipByGlobalNorm{Lookahead{WeightDecay{ClipByValue{Lamb{}, 0.1}, 1e-3, {{"*/weight"}}}}, 0.5}};

TEST(ByParameter, AdaptersNestAroundThemCompiledAndEager) {
  auto whole = session_of(nest, {.global_batch = 512}), split = session_of(nest, {.global_batch = 512, .micro_batch = 100});
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  Session eager(parameters, Accumulate{nest}, {.global_batch = 512, .micro_batch = 300, .seed = 7});
  for (int step = 0; step < 12; ++step) {
    whole.accumulate(x, y);
    split.accumulate(x, y);
    eager.accumulate(512, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  }
  EXPECT_EQ(differing_bits(whole.parameter_bytes(), split.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(whole.optimizer_state_bytes(), split.optimizer_state_bytes()), 0);
  EXPECT_EQ(differing_bits(std::as_bytes(whole.parameters().values()), eager.parameter_bytes()), 0);
  EXPECT_EQ(whole.allocated_bytes(), whole.memory().total());
}

TEST(ByParameter, MuonsProductsHaveTheirWorkspacePlannedAndRunEagerly) {
  auto session = session_of(Muon{}, {.global_batch = 512, .threads = 2});
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  Session eager(parameters, Accumulate{Muon{}}, {.global_batch = 512, .seed = 7});
  for (int step = 0; step < 5; ++step) {
    session.accumulate(x, y);
    eager.accumulate(512, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  }
  EXPECT_EQ(differing_bits(std::as_bytes(session.parameters().values()), eager.parameter_bytes()), 0);
  EXPECT_EQ(session.allocated_bytes(), session.memory().total());
}

TEST(ByParameter, AFrozenParameterIsNoPartOfAnothersNorm) {
  auto all = session_of(Lamb{}, {.global_batch = 512}),
       some = session_of(Lamb{}, {.global_batch = 512, .freeze = {"hidden/*"}});
  const std::vector<float> before(some.parameters()["hidden/weight"].values.begin(),
                                  some.parameters()["hidden/weight"].values.end());
  all.accumulate(x, y);
  some.accumulate(x, y);
  EXPECT_TRUE(std::ranges::equal(all.parameters()["output/weight"].values, some.parameters()["output/weight"].values));
  EXPECT_TRUE(std::ranges::equal(before, some.parameters()["hidden/weight"].values));
  EXPECT_FALSE(std::ranges::equal(before, all.parameters()["hidden/weight"].values));
}

/// An adapter that takes the norm of an inner rule's results over all parameters.
template <class Inner>
struct ScaleBySize {
  Inner inner;
  using State = StateOf<Inner>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto next = apply_rule(inner, parameter, gradient, state, step);
    return update(next.parameter / sqrt(sum(next.parameter * next.parameter, {0})), next.state);
  }
};
/// A rule that takes a norm by parameter of a single number.
struct PartsOfANumber {
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(parameter - norm_by_parameter(sum(gradient, {0})), state);
  }
};

template <class Rule>
std::string error_of(const Rule& rule) {
  try {
    trace_update(rule, std::span(declared));
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "";
}

TEST(ByParameter, WhatHasNoPartsIsNamed) {
  EXPECT_EQ(error_of(ScaleBySize<Lamb>{}),
            "by_parameter: an adapter reduces over all parameters what was computed for each of them");
  EXPECT_EQ(error_of(ScaleBySize<Sgd>{}), "");
  EXPECT_EQ(error_of(PartsOfANumber{}), "by_parameter: needs a row over all parameters, got []");
}

}  // namespace by_parameter_test
