// Rules of eager sessions: what they cut, refuse, evaluate and leave unchanged; and the parameters that they train.
#include <gtest/gtest.h>

#include <limits>

#include "../error_of.hpp"
#include "../models.hpp"

namespace eager_session_rules_test {

using namespace models;

constexpr std::size_t window = 600;

/// Factors for four inputs.
struct Rates {
  Parameter rate;
  explicit Rates(Scope s) : rate(s.parameter("rate", Shape{4}, init::constant(0.5))) {}
};

TEST(EagerSessionRules, ABatchIsCutAtTheWindowsEndAndToTheMicroBatch) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  const auto train = [&](std::int64_t micro_batch, std::vector<std::int64_t>* parts) {
    Parameters parameters(Device::cpu());
    const Classifier net(parameters.root());
    Session session(parameters, Accumulate{Adam{}}, {.global_batch = 250, .micro_batch = micro_batch});
    EXPECT_EQ(session.accumulate(window, [&](EagerTape& tape) {
      if (parts != nullptr) parts->push_back(tape.batch());
      return net.loss(tape.input(x, {9}), tape.input(y));
    }), 2);
    EXPECT_EQ(session.position(), 100);
    EXPECT_EQ(session.flush(), 1);
    EXPECT_EQ(session.flush(), 0);
    return std::vector<std::byte>(session.parameter_bytes().begin(), session.parameter_bytes().end());
  };
  std::vector<std::int64_t> parts;
  EXPECT_EQ(differing_bits(train(0, nullptr), train(150, &parts)), 0);
  EXPECT_EQ(parts, (std::vector<std::int64_t>{150, 100, 150, 100, 100}));
}

TEST(EagerSessionRules, EvaluationHasTheBitsOfTheCompiledOne) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  Session compiled(DroppedNet{}, Accumulate{Adam{}}, {.global_batch = 100});
  Parameters parameters(Device::cpu());
  const Dropped net(parameters.root());
  Session session(parameters, Accumulate{Adam{}}, {.global_batch = 70});
  const Averages got = session.evaluate(window, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  EXPECT_EQ(got.loss(), compiled.evaluate(x, y).loss());
}

TEST(EagerSessionRules, ErrorsChangeNothing) {
  auto x = numbers(window * 9);
  auto y = labels(window, 5);
  const auto train = [&](bool with_errors) {
    Parameters parameters(Device::cpu());
    const Classifier net(parameters.root());
    Session session(parameters, Accumulate{Adam{}}, {.global_batch = window});
    const auto record = [&](EagerTape& tape) {
      return net.loss(tape.input(std::span(x).first(2700), {9}), tape.input(std::span(y).first(300)));
    };
    session.accumulate(300, record);
    if (with_errors) {
      EXPECT_THROW(session.accumulate(300, [&](EagerTape& tape) {
        const Var in = tape.input(std::span(x).first(2700), {9});
        return Loss(sum(matmul(in, transpose(in, {1, 0})), {-1}));
      }), ShapeError);
      EXPECT_THROW(session.accumulate(299, record), DataError);
      EXPECT_THROW(session.accumulate(0, record), DataError);
      EXPECT_THROW(session.accumulate(300, [](EagerTape&) { return Loss(Var{}); }), ShapeError);
      y[150] = 5;
      EXPECT_THROW(session.accumulate(300, record), DataError);
      y = labels(window, 5);
      const float kept = std::exchange(x[44], std::numeric_limits<float>::infinity());
      EXPECT_THROW(session.accumulate(300, record), DataError);
      x[44] = kept;
    }
    EXPECT_EQ(session.position(), 300);
    EXPECT_EQ(session.accumulate(300, record), 1);
    return std::vector<std::byte>(session.parameter_bytes().begin(), session.parameter_bytes().end());
  };
  EXPECT_EQ(differing_bits(train(false), train(true)), 0);
}

TEST(EagerSessionRules, ABadSampleIsNamedByItsPlaceInWhatIsGiven) {
  auto x = numbers(20 * 9);
  x[13 * 9 + 2] = std::numeric_limits<float>::infinity();
  const auto y = labels(20, 5);
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 40, .micro_batch = 4});
  const auto record = [&](EagerTape& tape) {
    const Var values = tape.input(x, {9}), label = tape.input(y);
    return net.loss(values, label);
  };
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate(20, record); }), "input 0, sample 13: value 2 is infinite");
  EXPECT_EQ(session.position(), 12);
  EXPECT_EQ(error_of<DataError>([&] { session.evaluate(20, record); }), "input 0, sample 13: value 2 is infinite");
  std::vector<std::int32_t> rows(20);  // of a data set that has these twenty at its end, in reverse
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 99 - static_cast<std::int32_t>(i);
  std::int64_t taken = 0;
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate_rows(rows, 0, false, taken, record); }),
            "input 0, sample 86: value 2 is infinite");
  EXPECT_EQ(taken, 12);
}

TEST(EagerSessionRules, TheGradientOfAWindowIsNotKnownInside) {
  const auto x = numbers(40);
  Parameters parameters(Device::cpu());
  const Rates net(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 20});
  EXPECT_THROW(session.accumulate(10, [&](EagerTape& tape) {
    const Var in = tape.input(x, {4}), p = net.rate.on(in);
    const Var g = gradients(sum(in * p, {-1}), {p})[0];
    return Loss(sum(in * g, {-1}));  // every sample would depend on all others
  }), ShapeError);
  EXPECT_THROW(session.accumulate(10, [&](EagerTape& tape) {
    const Var in = tape.input(x, {4}), p = net.rate.on(in), y = sum(in * p, {-1});
    value(gradients(y, {p})[0]);
    return Loss(y);
  }), ShapeError);
  EXPECT_EQ(session.position(), 0);
}

TEST(EagerSessionRules, ValuesOfAPartEndWithIt) {
  const auto x = numbers(40);
  Parameters parameters(Device::cpu());
  const Rates net(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 30});
  Var kept;
  for (int part = 0; part < 3; ++part) {
    session.accumulate(10, [&](EagerTape& tape) {
      const Var in = tape.input(x, {4});
      kept = in * net.rate;
      EXPECT_EQ(value(kept).size(), 40);
      return Loss(sum(kept, {-1}));
    });
    EXPECT_THROW(value(kept), TapeError);
  }
}

TEST(EagerSessionRules, PenaltyOnTheGradientByTheInputIsTrained) {
  const auto x = numbers(40);
  Parameters parameters(Device::cpu());
  const Rates net(parameters.root());
  Session session(parameters, Accumulate{Sgd{.learning_rate = 0.25f}}, {.global_batch = 10});
  session.accumulate(10, [&](EagerTape& tape) {
    const Var in = tape.input(x, {4});
    const Var g = gradients(sum(square(in) * net.rate, {-1}), {in})[0];  // 2·x·p
    return Loss(sum(square(g), {-1}));                                          // its gradient by p: 8·x²·p
  });
  for (std::size_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::size_t s = 0; s < 10; ++s) sum += 8.0 * x[s * 4 + i] * x[s * 4 + i] * 0.5;
    EXPECT_NEAR(session.last_gradient()[i], sum, 1e-5);
  }
}

TEST(EagerSessionRules, GradientsAreZeroBeforeAStep) {
  const Device device = Device::cpu();
  for (const int pieces : {1, 2}) {  // the session then gets their memory
    std::vector<Tensor> others;
    for (int i = 0; i < pieces; ++i) others.push_back(Tensor::from<float>(device, std::vector<float>(16, 7.0f), {16}));
  }
  Parameters parameters(device);
  const nn::Linear layer(parameters.root(), 3, 4);
  const Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 4});
  for (const float gradient : session.last_gradient()) EXPECT_EQ(gradient, 0);
}

TEST(EagerSessionRules, ASumIsNotDivided) {  // case 11
  const auto x = numbers(20 * 9);
  const auto y = labels(20, 5);
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session session(parameters, Accumulate{Sgd{.learning_rate = 1.0f}},
                  {.global_batch = 20, .micro_batch = 4, .reduction = Reduction::sum});
  const std::vector<float> before(parameters.values().begin(), parameters.values().end());
  session.accumulate(20, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(parameters.values()[i], before[i] - session.last_gradient()[i]);
}

TEST(EagerSessionRules, AWindowWithoutWeightMakesNoStep) {
  Parameters parameters(Device::cpu());
  const Rates net(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 4});
  const auto x = numbers(16);
  std::vector<float> w(4, 0.0f);
  const auto record = [&](EagerTape& tape) {
    const Var in = tape.input(x, {4});
    return Loss(sum(in * net.rate, {-1})).weighted_by(tape.input(w));
  };
  EXPECT_EQ(session.accumulate(4, record), 0);
  EXPECT_EQ(session.step_count(), 0);
  EXPECT_EQ(parameters["rate"].values[0], 0.5f);
  w.assign(4, 1e-40f);
  EXPECT_THROW(session.accumulate(4, record), DataError);
  session.discard();
  w.assign(4, 2.0f);
  EXPECT_EQ(session.accumulate(4, record), 1);
}

TEST(EagerSessionRules, RefusesOptionsThatItCannotKeep) {
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  for (const SessionOptions& options : {SessionOptions{}, SessionOptions{.global_batch = 4, .micro_batch = -1},
                                        SessionOptions{.global_batch = 4, .threads = 0},
                                        SessionOptions{.global_batch = 4, .freeze = {"hiden/*"}},
                                        SessionOptions{.global_batch = 4, .reduction = Reduction::sum, .noise_batch = 2}})
    EXPECT_THROW((Session(parameters, Accumulate{Sgd{}}, options)), OptionError);
  for (const double rate : {-0.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW((Session(parameters, Accumulate{Sgd{.learning_rate = rate}}, {.global_batch = 4})), OptionError) << rate;
}

TEST(EagerParameters, AreThereOnceTheModelIs) {
  Parameters parameters(Device::cpu());
  EXPECT_THROW(EagerTape{parameters}, TapeError);
  const nn::Linear first(parameters.root() / "first", 3, 2);
  parameters.initialize(1);
  const auto weight = parameters["first/weight"].values;
  EXPECT_EQ(weight.size(), 6u);
  const float before = weight[0];
  parameters.initialize(2);
  EXPECT_NE(weight[0], before);
  EXPECT_THROW(parameters["second/weight"], OptionError);
  EagerTape tape(parameters);
  const nn::Linear second(parameters.root() / "second", 2, 2);
  const float values[3]{};
  try {
    second(first(tape.input(values, {3})));
    FAIL() << "a parameter that the tape has not";
  } catch (const TapeError& error) {
    EXPECT_STREQ(error.what(), "parameter 2 is not one of the 2 on this tape: it was declared later, or elsewhere");
  }
  EXPECT_THROW(EagerTape{parameters}, TapeError);
  EXPECT_THROW(parameters.initialize(2), TapeError);
  EXPECT_THROW((Session(parameters, Accumulate{Sgd{}}, {.global_batch = 1})), TapeError);
}

TEST(EagerParameters, OneOfThemMustLearnFromTheLoss) {
  Parameters parameters(Device::cpu());
  const nn::Linear first(parameters.root() / "first", 3, 2);
  const std::vector<float> x(12, 1.0f);
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 8});
  const auto loss_by = [&](auto last) {
    return [&, last](EagerTape& tape) { return Loss{sum(last(first(tape.input(x, {3}))), {1})}; };
  };
  const auto round_off = [](Var v) { return round(v); };
  try {
    session.accumulate(4, loss_by(round_off));
    FAIL() << "a loss without a derivative";
  } catch (const TapeError& error) {
    EXPECT_EQ(std::string_view(error.what()).find("loss: has no derivative with respect to any parameter"), 0u) << error.what();
  }
  EXPECT_EQ(session.position(), 0);
  session.accumulate(4, loss_by([](Var v) { return v; }));
  EXPECT_EQ(session.position(), 4);
}

TEST(EagerParameters, OfAnotherModelOrLaterAreRefused) {
  Parameters parameters(Device::cpu()), others(Device::cpu());
  const nn::Linear first(parameters.root() / "first", 3, 2), other(others.root() / "first", 3, 2);
  const std::vector<float> x(12, 1.0f);
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 8});
  EagerTape elsewhere(Device::cpu(), 4);
  const Var foreign = sum(elsewhere.input(x, {3}), {1});
  const auto loss_of = [&](EagerTape& tape, const nn::Linear& layer) { return sum(layer(tape.input(x, {3})), {1}); };
  const auto refused = [&](auto record) { EXPECT_THROW(session.accumulate(4, record), TapeError); };
  refused([&](EagerTape& tape) { return Loss{loss_of(tape, other)}; });
  refused([&](EagerTape&) { return Loss{foreign}; });
  refused([&](EagerTape& tape) { return Loss{loss_of(tape, first), metric("m", foreign)}; });
  refused([&](EagerTape& tape) { return Loss{loss_of(tape, first)}.weighted_by(foreign); });
  refused([&](EagerTape& tape) { return Loss{loss_of(tape, first)}.plus(foreign); });
  const nn::Linear second(parameters.root() / "second", 3, 2);
  refused([&](EagerTape& tape) { return Loss{loss_of(tape, second)}; });
  EXPECT_EQ(session.position(), 0);
  session.accumulate(4, [&](EagerTape& tape) { return Loss{loss_of(tape, first)}; });
  EXPECT_EQ(session.position(), 4);
  EXPECT_THROW(session.state(), TapeError);  // `second` has no values
}

}  // namespace eager_session_rules_test
