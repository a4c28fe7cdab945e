// Eager windows of several computations: what enters once, where their blocks end, and what is undone.
#include <gtest/gtest.h>

#include <cmath>

#include "../error_of.hpp"
#include "../models.hpp"

namespace eager_windows_test {

using namespace models;

struct Pair {
  Parameter p, q;
  explicit Pair(Scope s)
      : p(s.parameter("p", Shape{}, init::constant(0.5))), q(s.parameter("q", Shape{}, init::constant(0.25))) {}
  Var penalty(Var like) const { return 0.5 * (p.on(like) * p.on(like) + q.on(like) * q.on(like)); }
};

TEST(EagerWindows, ATermEntersAWindowOfSeveralComputationsOnce) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{.learning_rate = 1}}, {.global_batch = 4});
  const float ones[] = {1, 1};
  for (const Parameter* parameter : {&pair.p, &pair.q})
    session.accumulate(2, [&](EagerTape& tape) {
      const Var x = tape.input(ones);
      return Loss(x * parameter->on(x)).plus(pair.penalty(x));
    });
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(parameters.values()[0], 0.5f - (2.0f / 4 + 0.5f));
  EXPECT_EQ(parameters.values()[1], 0.25f - (2.0f / 4 + 0.25f));
}

TEST(EagerWindows, BlocksEndWhereOthersComputedMeanwhile) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 192});
  std::vector<float> x(64, 1.0f), large(64);
  large[0] = 1e8f;  // a chain that went on from here would lose each 1 that is added
  const auto give = [&](const Parameter& parameter, const std::vector<float>& values) {
    session.accumulate(64, [&](EagerTape& tape) {
      const Var in = tape.input(values);
      return Loss(in * parameter);
    });
  };
  give(pair.p, large);
  give(pair.q, x);
  give(pair.p, x);  // in the next block of 128
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(session.last_gradient()[0], 1e8f + 64);
  EXPECT_EQ(session.last_gradient()[1], 64);
}

TEST(EagerWindows, AnInfiniteSumInAnOpenBlockIsUndone) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{}},
                  {.global_batch = 8, .micro_batch = 3, .non_finite = NonFinite::drop_micro_batch});
  std::vector<float> x(8, 1.0f);
  x[4] = 0;  // its root is 0, with no finite slope
  const auto record = [&](EagerTape& tape) {
    const Var in = tape.input(x);
    return Loss(sqrt(in * pair.p));
  };
  EXPECT_EQ(session.accumulate(8, record), 1);
  EXPECT_EQ(session.dropped_micro_batches(), 1);
  EXPECT_EQ(session.dropped_windows(), 0);
  EXPECT_FLOAT_EQ(session.last_gradient()[0], 5 * 0.5f / std::sqrt(0.5f));
}

/// An op after a product reads a view that was recorded before the product.
struct Gated {
  Parameter weight;
  constexpr explicit Gated(Scope s) : weight(s.parameter("weight", Shape{16, 16}, init::normal(0.1))) {}
  constexpr Loss loss(Var x) const {
    const Var gate = slice(x, 1, 0, 16), y = gate * matmul(slice(x, 1, 16, 16), weight);
    return Loss(sum(y * y, {1}));
  }
};

TEST(EagerWindows, AViewFromBeforeAProductIsOfEverySampleBehindIt) {
  constexpr std::int64_t samples = 2500;  // more than are swept together
  const auto x = numbers(samples * 32);
  Session compiled(Compiled<Gated, Inputs<f32[32]>>{}, Accumulate{Sgd{}}, {.global_batch = samples});
  compiled.accumulate(x);
  Parameters parameters(Device::cpu());
  const Gated net(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = samples});
  session.accumulate(samples, [&](EagerTape& tape) { return net.loss(tape.input(x, {32})); });
  EXPECT_EQ(session.last_window().loss(), compiled.last_window().loss());
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(session.last_gradient()[i], compiled.accumulator()[i]) << i;
}

/// Backward's seed, a constant, is stored by ops that are swept with fewer samples than others.
struct Maxima {
  Parameter weight;
  constexpr explicit Maxima(Scope s) : weight(s.parameter("weight", Shape{6, 6}, init::uniform(0.6))) {}
  constexpr Loss loss(Var x) const {
    const Var w = weight.on(x), a = matmul(x, w), b = matmul(tanh(a), w), c = matmul(tanh(b), w);
    const Var wide = pad(flatten(b), 1, 0, 100), first = max(flatten(a), {1}), second = max(tanh(wide), {1});
    return Loss(first + second + max(flatten(c), {1}));
  }
};

TEST(EagerWindows, AConstantIsOfAllSamplesBehindASweepOfFewer) {
  constexpr std::int64_t samples = 700;
  const auto x = numbers(samples * 36);
  const auto gradient = [&](std::int64_t part) {
    Parameters parameters(Device::cpu());
    const Maxima net(parameters.root());
    Session session(parameters, Accumulate{Sgd{}}, {.global_batch = samples, .micro_batch = part});
    session.accumulate(samples, [&](EagerTape& tape) { return net.loss(tape.input(x, {6, 6})); });
    return std::vector<float>(session.last_gradient().begin(), session.last_gradient().end());
  };
  EXPECT_EQ(gradient(samples), gradient(100));
}

TEST(EagerWindows, MeasuringNoiseLeavesATermItsWeight) {
  const auto trained = [](int noise_batch) {
    Parameters parameters(Device::cpu());
    const Pair pair(parameters.root());
    Session session(parameters, Accumulate{Sgd{.learning_rate = 1}}, {.global_batch = 8, .noise_batch = noise_batch});
    const std::vector<float> ones(8, 1.0f);
    session.accumulate(8, [&](EagerTape& tape) {
      const Var x = tape.input(ones);
      return Loss(x * pair.p * pair.q).plus(pair.penalty(x));
    });
    return std::vector<float>(parameters.values().begin(), parameters.values().end());
  };
  EXPECT_EQ(trained(2), trained(0));
}

TEST(EagerWindows, MeasuringNoiseLeavesEachComputationItsSums) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{.learning_rate = 1}}, {.global_batch = 6, .noise_batch = 2});
  const float values[] = {1, 2};
  for (const Parameter* parameter : {&pair.p, &pair.q, &pair.p})
    session.accumulate(2, [&](EagerTape& tape) {
      const Var x = tape.input(values);
      return Loss((parameter == &pair.q ? 4.0 : 1.0) * x * parameter->on(x));
    });
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(parameters.values()[0], 0.5f - 6.0f / 6);
  EXPECT_EQ(parameters.values()[1], 0.25f - 12.0f / 6);
}

TEST(EagerWindows, ATermThatOnlyALaterComputationHasEntersOnce) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{.learning_rate = 1}}, {.global_batch = 4});
  const float ones[] = {1, 1};
  session.accumulate(2, [&](EagerTape& tape) {
    const Var x = tape.input(ones);
    return Loss(x * pair.p);
  });
  session.accumulate(2, [&](EagerTape& tape) {
    const Var x = tape.input(ones);
    return Loss(x * pair.q).plus(pair.penalty(x));
  });
  EXPECT_EQ(parameters.values()[0], 0.5f - (2.0f / 4 + 0.5f));
  EXPECT_EQ(parameters.values()[1], 0.25f - (2.0f / 4 + 0.25f));
}

/// Fails when told to.
struct Failing {
  bool* fails;
  Checkpoint state() const { return {}; }
  void restore(const Checkpoint&) const {}
  void step(std::span<const ParameterView> parameters, std::span<const GradientView> gradients) const {
    if (*fails) throw std::runtime_error("no step");
    for (std::size_t p = 0; p < parameters.size(); ++p)
      for (std::size_t i = 0; i < parameters[p].values.size(); ++i) parameters[p].values[i] -= gradients[p].values[i];
  }
};

TEST(EagerWindows, AStepThatFailedIsMadeBeforeTheWindowTakesMore) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  bool fails = true;
  Session session(parameters, Accumulate{Failing{&fails}}, {.global_batch = 10});
  const auto give = [&](std::vector<float> x) {
    return session.accumulate(2, [&](EagerTape& tape) {
      const Var in = tape.input(x);
      return Loss(in * pair.p);
    });
  };
  give({1, 1});
  EXPECT_THROW(session.flush(), std::runtime_error);
  fails = false;
  EXPECT_EQ(give({5, 5}), 1);  // the step of the first two
  EXPECT_EQ(parameters.values()[0], 0.5f - 1);
  EXPECT_EQ(session.flush(), 1);
  EXPECT_EQ(parameters.values()[0], 0.5f - 6);
}

TEST(EagerWindows, SumsInDoubleAreSavedWhole) {
  struct Doubled {
    Parameter w;
    explicit Doubled(Scope s) : w(s.parameter("w", Shape{500}, init::normal(1))) {}
    Loss loss(Var x) const {
      return Loss(convert(sum(square(convert(w.on(x), DType::f64) * convert(x, DType::f64)), {1}), DType::f32));
    }
  };
  const auto x = numbers(6 * 500);
  const auto part = [&](auto& session, const Doubled& net, int begin) {
    session.accumulate(2, [&](EagerTape& tape) {
      return net.loss(tape.input(std::span(x).subspan(static_cast<std::size_t>(begin * 500), 1000), {500}));
    });
  };
  Parameters whole(Device::cpu()), other(Device::cpu());
  const Doubled net(whole.root()), same(other.root());
  Session session(whole, Accumulate{Sgd{}}, {.global_batch = 6}), resumed(other, Accumulate{Sgd{}}, {.global_batch = 6});
  part(session, net, 0);
  resumed.restore(session.state());
  for (const int begin : {2, 4}) part(session, net, begin), part(resumed, same, begin);
  EXPECT_EQ(resumed.step_count(), 1);
  for (std::size_t i = 0; i < 500; ++i) EXPECT_EQ(other.values()[i], whole.values()[i]) << i;
}

TEST(EagerWindows, WhatCannotBeAddedIsRefused) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 4});
  const float ones[] = {1, 1};
  const auto give = [&](auto loss) {
    session.accumulate(2, [&](EagerTape& tape) {
      const Var x = tape.input(ones);
      return loss(x * pair.p);
    });
  };
  EXPECT_EQ(error_of<ShapeError>([&] { give([](Var l) { return Loss(Scalar(2.0) * l); }); }),
            "a model cannot use a Scalar, only optimizers can: make a number that changes an input of each sample, or a frozen "
            "parameter that is written between windows");
  EXPECT_EQ(error_of<ShapeError>([&] { give([](Var l) { return Loss(l, metric("none", Var{})); }); }),
            "metric 'none': no value");
  give([](Var l) { return Loss(l, metric("loss", l)); });
  EXPECT_EQ(error_of<ShapeError>([&] { give([](Var l) { return Loss(l); }); }),
            "a loss with 0 metrics; earlier parts had 1");
  EXPECT_EQ(session.position(), 2);
  give([](Var l) { return Loss(l, metric("loss", l)); });
  EXPECT_EQ(session.step_count(), 1);
}

TEST(EagerWindows, AGradientOfABatchIsNoLossOfItsSamples) {  // it would depend on how the batch is cut
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 4});
  const float ones[] = {1, 1};
  const auto record = [&](EagerTape& tape) {
    const Var x = tape.input(ones), p = pair.p.on(x), y = x * p * p;
    return Loss(y * gradients(y, {p})[0]);
  };
  EXPECT_EQ(error_of<ShapeError>([&] { session.evaluate(2, record); }),
            "evaluate: a loss that contains a gradient over the batch depends on how the batch is cut");
  EXPECT_THROW(session.accumulate(2, record), ShapeError);
  EXPECT_EQ(session.position(), 0);
}

TEST(EagerWindows, AreNotChangedWhileAPartIsRecorded) {
  const float ones[] = {1, 1};
  const auto trained = [&](bool calling) {
    Parameters parameters(Device::cpu());
    const Pair pair(parameters.root());
    Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 4});
    const auto plain = [&](EagerTape& tape) {
      const Var x = tape.input(ones);
      return Loss(x * pair.p);
    };
    session.accumulate(2, plain);
    session.accumulate(2, [&](EagerTape& tape) {
      if (calling) {
        EXPECT_EQ(error_of<TapeError>([&] { session.evaluate(2, plain); }), "evaluate: the session is recording a part");
        EXPECT_EQ(error_of<TapeError>([&] { session.accumulate(2, plain); }), "accumulate: the session is recording a part");
        EXPECT_THROW(session.flush(), TapeError);
        EXPECT_THROW(session.discard(), TapeError);
        EXPECT_THROW(session.restore(session.state()), TapeError);
      }
      return plain(tape);
    });
    EXPECT_EQ(session.step_count(), 1);
    return parameters.values()[0];
  };
  EXPECT_EQ(trained(true), trained(false));
}

TEST(EagerWindows, AWindowOfWeightZeroIsNeitherStepNorDropped) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{LossScale{Sgd{}}}, {.global_batch = 2, .non_finite = NonFinite::raise});
  const float values[] = {100, 1}, weights[] = {0, 0};  // e^100 is infinite
  const double scale = session.loss_scale();
  session.accumulate(2, [&](EagerTape& tape) {
    const Var x = exp(tape.input(values)), w = tape.input(weights);
    return Loss(x * pair.p).weighted_by(w);
  });
  EXPECT_EQ(session.step_count(), 0);
  EXPECT_EQ(session.dropped_windows(), 0);
  EXPECT_EQ(session.loss_scale(), scale);
}

TEST(EagerWindows, AStateIsNotOfAStepThatFailed) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  bool fails = true;
  Session session(parameters, Accumulate{Failing{&fails}}, {.global_batch = 4});
  const float ones[] = {1, 1};
  const auto give = [&](auto& to) {
    return to.accumulate(2, [&](EagerTape& tape) {
      const Var in = tape.input(ones);
      return Loss(in * pair.p);
    });
  };
  give(session);
  EXPECT_THROW(session.flush(), std::runtime_error);
  EXPECT_EQ(error_of<OptionError>([&] { session.state(); }),
            "state: the window's step has failed: flush it again, or discard it");
  session.discard();
  fails = false;
  give(session);
  EXPECT_EQ(give(session), 1);
  EXPECT_EQ(parameters.values()[0], 0.5f - 1);
}

}  // namespace eager_windows_test
