// Rules whose states have shapes of their own: planned, frozen, saved and resumed as such, compiled and eagerly.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../models.hpp"

namespace state_shapes_test {

using namespace models;

constexpr auto in_adapters = Accumulate{Ema{Lookahead{Adafactor{.learning_rate = 0.05f}}}};

TEST(StateShapes, AdafactorKeepsRowsAndColumns) {
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  const SessionOptions options{.global_batch = 512, .seed = 7, .freeze = {"hidden/*"}};
  Session session(ClassifierNet{}, in_adapters, options);
  // For [9, 17], [17], [17, 5] and [5]: rows and vectors, then columns; the adapters' states have the parameters' size.
  EXPECT_EQ(session.memory().optimizer_state, aligned((9 + 17 + 17 + 5) * 4) + aligned((17 + 5) * 4) + 2 * aligned(260 * 4));
  EXPECT_EQ(session.allocated_bytes(), session.memory().total());
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  Session eager(parameters, in_adapters, options);
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); };
  for (int step = 0; step < 6; ++step) {
    session.accumulate(x, y);
    eager.accumulate(512, record);
  }
  const Checkpoint here = session.state(), there = eager.state();
  EXPECT_EQ(here.tensors.size(), 4 + 4 * 3 + 2);  // vectors have no columns
  for (const auto& [name, tensor] : here.tensors) EXPECT_TRUE(tensor.values == there.tensor(name).values) << name;
  Session resumed(ClassifierNet{}, in_adapters, options);
  resumed.restore(there);
  resumed.accumulate(x, y);
  eager.accumulate(512, record);
  EXPECT_EQ(differing_bits(std::as_bytes(resumed.parameters().values()), eager.parameter_bytes()), 0);
}

TEST(StateShapes, LargerOnesArePlannedAndKeptAsideWithFrozenParameters) {
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  SessionOptions options{.global_batch = 512, .seed = 7};
  Session free(ClassifierNet{}, Accumulate{Shampoo{}}, options);
  EXPECT_EQ(free.memory().optimizer_state, aligned((9 * 9 + 17 + 17 * 17 + 5) * 4) + aligned((17 * 17 + 5 * 5) * 4));
  free.accumulate(x, y);
  const Checkpoint before = free.state();
  options.freeze = {"hidden/*"};
  Session session(ClassifierNet{}, Accumulate{Shampoo{}}, options);
  EXPECT_EQ(session.allocated_bytes(), session.memory().total());
  EXPECT_GE(session.memory().update, free.memory().update + (9 * 17 + 9 * 9 + 17 * 17 + 17 + 17) * 4);
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  Session eager(parameters, Accumulate{Shampoo{}}, options);
  session.restore(before);
  eager.restore(before);
  for (int step = 0; step < 3; ++step) {
    session.accumulate(x, y);
    eager.accumulate(512, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  }
  const Checkpoint here = session.state(), there = eager.state();
  for (const auto& [name, tensor] : here.tensors) {
    EXPECT_TRUE(tensor.values == there.tensor(name).values) << name;
    EXPECT_EQ(tensor.values == before.tensor(name).values, name.find("hidden") != std::string::npos) << name;
  }
}

/// Remembers the norm of the last gradient, one number for all elements.
struct RemembersNorm {
  Scalar learning_rate = 0.1;
  struct State {
    Var norm;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    const Var moved = parameter - learning_rate * gradient / (1.0 + state.norm);
    return update(moved, State{sqrt(sum(gradient * gradient, {0}))});
  }
};

/// Divides each parameter's gradient by a running mean of its norm, which is one number.
template <class Inner>
struct Normed {
  Inner inner;
  struct State {
    StateOf<Inner> inner;
    Var norm;
  };
  static constexpr Shape state_shape(int index, const Shape& parameter) { return index == 0 ? Shape{1} : parameter; }
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var norm = by_parameter([](Var n, Var g) { return 0.5 * n + 0.5 * parameter_norm(g); }, state.norm, gradient);
    const Var scaled = by_parameter([](Var g, Var n) { return g / (1.0 + reshape(n, Shape{})); }, gradient, norm);
    const auto next = apply_rule(inner, parameter, scaled, state.inner, step);
    return update(next.parameter, State{next.state, norm});
  }
};

/// Returns the state of a compiled session after three windows in two parts, and expects that of an eager one to equal it.
template <class Rule>
Checkpoint state_after_windows(const Rule& rule) {
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  Session session(ClassifierNet{}, Accumulate{rule}, {.global_batch = 512, .micro_batch = 300, .seed = 7});
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session eager(parameters, Accumulate{rule}, {.global_batch = 512, .seed = 7});
  for (int step = 0; step < 3; ++step) {
    session.accumulate(x, y);
    eager.accumulate(512, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  }
  Checkpoint here = session.state();
  const Checkpoint there = eager.state();
  for (const auto& [name, tensor] : here.tensors) EXPECT_TRUE(tensor.values == there.tensor(name).values) << name;
  return here;
}

TEST(StateShapes, OneNumberStandsForEachElement) {
  const Checkpoint state = state_after_windows(RemembersNorm{});
  const auto first = state.elements<float>("optimizer/0/hidden/bias")[0];
  EXPECT_GT(first, 0);
  for (const char* name : {"hidden/weight", "hidden/bias", "output/weight", "output/bias"})
    for (const float norm : state.elements<float>("optimizer/0/" + std::string(name))) EXPECT_EQ(norm, first) << name;
}

TEST(StateShapes, AdaptersHaveTheirOwn) {
  const Checkpoint state = state_after_windows(Normed<Sgd>{{.learning_rate = 0.1}});
  EXPECT_EQ(state.elements<float>("optimizer/0/hidden/weight").size(), 9u * 17);  // the velocity
  EXPECT_EQ(state.elements<float>("optimizer/1/hidden/weight").size(), 1u);
  EXPECT_GT(state.elements<float>("optimizer/1/hidden/weight")[0], 0);
}

template <int Fault>
struct Faulty {
  struct State {
    Var small, m;
  };
  static constexpr Shape state_shape(int index, const Shape& parameter) { return index == 0 ? Shape{1} : parameter; }
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    if (Fault == 0) return update(parameter - 0.1 * gradient, State{gradient * gradient, state.m});
    if (Fault == 1) return update(parameter - 0.1 * gradient, State{state.small, {}});
    if (Fault == 3) return update(sum(parameter * gradient, {0}), state);
    return update(Var{}, state);
  }
};

TEST(StateShapes, WhatARuleReturnsHasTheShapeThatIsKept) {
  const auto error = [](auto rule) {
    return error_of<ShapeError>([&] {
      Parameters parameters(Device::cpu());
      const Classifier net(parameters.root());
      Session session(parameters, Accumulate{rule}, {.global_batch = 512});
    });
  };
  EXPECT_EQ(error(Faulty<0>{}), "an update rule leaves value 0 of its State with the shape [260] instead of [4]");
  EXPECT_EQ(error(Faulty<1>{}), "an update rule leaves value 1 of its State without a value");
  EXPECT_EQ(error(Faulty<2>{}), "an update rule leaves the parameter without a value");
  EXPECT_EQ(error(Faulty<3>{}), "an update rule leaves the parameter with the shape [] instead of [260]");
}

TEST(StateShapes, AStateIsReadAndWrittenByTheParametersNames) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  Session session(ClassifierNet{}, Accumulate{Ema{Adam{}}}, {.global_batch = 64});
  Session other(ClassifierNet{}, Adam{}, {.global_batch = 64});
  session.accumulate(x, y);
  other.accumulate(x, y);
  const auto mean = session.optimizer_state(0)["output/weight"], square = session.optimizer_state(1)["output/weight"];
  EXPECT_EQ(mean.shape, (Shape{17, 5}));
  EXPECT_NE(mean.values[3], 0.0f);
  EXPECT_NEAR(square.values[3], mean.values[3] * mean.values[3] / 10, 1e-4 * square.values[3]);  // 0.001 g² and 0.1 g
  EXPECT_TRUE(std::ranges::equal(session.optimizer_state(2).values(), session.averaged_parameters().values()));
  const auto forget = [](auto& s) {
    for (int state = 0; state < 2; ++state) std::ranges::fill(s.optimizer_state(state)["output/weight"].values, 0.0f);
  };
  forget(session);
  session.accumulate(x, y);
  other.accumulate(x, y);
  EXPECT_TRUE(std::ranges::equal(session.parameters()["hidden/weight"].values, other.parameters()["hidden/weight"].values));
  EXPECT_FALSE(std::ranges::equal(session.parameters()["output/weight"].values, other.parameters()["output/weight"].values));
}

TEST(StateShapes, AStateThatIsNotThereOrHasAnotherShapeIsRefused) {
  const auto error = [](auto rule, int state) {
    Session session(ClassifierNet{}, rule, {.global_batch = 64});
    return error_of<OptionError>([&] { session.optimizer_state(state); });
  };
  EXPECT_EQ(error(Adam{}, 1), "accepted");
  EXPECT_EQ(error(Adam{}, 2), "the optimizer's state 2 of 2");
  EXPECT_EQ(error(Adam{}, -1), "the optimizer's state -1 of 2");
  EXPECT_EQ(error(in_adapters, 0), "the optimizer's state 0 has another shape than 'hidden/weight'");
  EXPECT_EQ(error(in_adapters, 2), "accepted");
}

}  // namespace state_shapes_test
