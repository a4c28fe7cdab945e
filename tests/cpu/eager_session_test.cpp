// Eager sessions end in the bits of compiled ones, however a window is split; and what only they can do.
#include <gtest/gtest.h>

#include <limits>

#include "../models.hpp"

using namespace models;

namespace {

constexpr std::size_t window = 600;  // four closed blocks of 128 and an open one
using Split = std::vector<std::size_t>;
const Split splits[] = {{window}, Split(6, 100), {7, 100, 1, 300, 192}};

/// Samples [begin, begin + count) of data that holds `window` of them.
template <class T>
std::span<const T> cut(const std::vector<T>& data, std::size_t begin, std::size_t count) {
  const std::size_t width = data.size() / window;
  return std::span(data).subspan(begin * width, count * width);
}

/// Trains a model both ways for three windows and compares everything after each; `record(net, tape, spans...)`.
template <class Net, class Model, class Optimizer, class Record, class... V>
void expect_compiled_bits(const Optimizer& optimizer, const Split& split, Record record, const V&... data) {
  Session compiled(Net{}, optimizer, {.global_batch = window, .seed = 7});
  Parameters parameters(Device::cpu());
  const Model net(parameters.root());
  Session eager(parameters, optimizer, {.global_batch = window, .seed = 7});
  const auto bytes = [](std::span<const float> values) { return std::as_bytes(values); };
  ASSERT_EQ(differing_bits(bytes(compiled.parameters().values()), eager.parameter_bytes()), 0) << "at the start";
  for (int w = 0; w < 3; ++w) {
    std::size_t at = 0;
    for (std::size_t part : split) {
      compiled.accumulate(cut(data, at, part)...);
      const int steps = eager.accumulate(static_cast<std::int64_t>(part),
                                         [&](EagerTape& tape) { return record(net, tape, cut(data, at, part)...); });
      at += part;
      EXPECT_EQ(steps, at == window ? 1 : 0);
    }
    const std::size_t elements = parameters.values().size();
    EXPECT_EQ(differing_bits(bytes(compiled.accumulator().first(elements)), bytes(eager.last_gradient())), 0) << "gradients";
    EXPECT_EQ(differing_bits(bytes(compiled.parameters().values()), eager.parameter_bytes()), 0) << "parameters";
    EXPECT_EQ(compiled.last_window().loss(), eager.last_window().loss());
    EXPECT_EQ(compiled.last_window().weight(), eager.last_window().weight());
    EXPECT_EQ(compiled.step_count(), eager.step_count());
  }
}

/// A value of three uses, one of which the compiler and a run record in other places.
struct UsedThrice {
  nn::Linear layer;
  constexpr explicit UsedThrice(Scope s) : layer(s / "layer", 4, 3) {}
  constexpr Loss loss(Var x, Var y) const {
    const Var h = layer(x);
    return mse(tanh(h) + sigmoid(h) * softplus(h), y);
  }
};

TEST(EagerUses, OfASampleAreAddedInOneOrder) {
  using Net = Compiled<UsedThrice, Inputs<f32[4], f32[3]>>;
  const auto x = numbers(window * 4), y = numbers(window * 3, 2);
  expect_compiled_bits<Net, UsedThrice>(Accumulate{Sgd{}}, {window},
                                        [](const UsedThrice& net, EagerTape& tape, auto in, auto target) {
                                          return net.loss(tape.input(in, {4}), tape.input(target, {3}));
                                        }, x, y);
}

template <class Optimizer>
class EagerSession : public testing::Test {};
using Optimizers = testing::Types<Sgd, Adam, ClipByGlobalNorm<AdamW>>;
TYPED_TEST_SUITE(EagerSession, Optimizers);

TYPED_TEST(EagerSession, HasTheBitsOfTheCompiledStep) {
  const Accumulate<TypeParam> optimizer{};
  const auto x9 = numbers(window * 9), x4 = numbers(window * 4), y3 = numbers(window * 3, 2), x18 = numbers(window * 18),
             y6 = numbers(window * 6, 2);
  auto weights = numbers(window, 3);
  for (float& w : weights) w = w < 0 ? 0.0f : w;
  const auto y = labels(window, 5);
  for (const Split& split : splits) {
    const auto classify = [](const auto& net, EagerTape& t, auto in, auto label) {
      return net.loss(t.input(in, {9}), t.input(label));
    };
    expect_compiled_bits<ClassifierNet, Classifier>(optimizer, split, classify, x9, y);
    expect_compiled_bits<DroppedNet, Dropped>(optimizer, split, classify, x9, y);
    expect_compiled_bits<WeightedNet, WeightedRegression>(
        optimizer, split,
        [](const auto& net, EagerTape& t, auto in, auto to, auto w) {
          return net.loss(t.input(in, {4}), t.input(to, {3}), t.input(w));
        },
        x4, y3, weights);
    expect_compiled_bits<SequenceNet, Sequence>(
        optimizer, split,
        [](const auto& net, EagerTape& t, auto in, auto to) {
          return net.loss(t.input(in, {3, 6}), t.input(to, {3, 2}));
        },
        x18, y6);
  }
}

TEST(EagerSixteenBits, EndInTheSameBitsForEverySplit) {
  const auto image = numbers_in<bf16>(window * 16);
  const auto token = labels(window, 7), label = labels(window, 3);
  std::vector<float> trained[std::size(splits)];
  for (std::size_t s = 0; s < std::size(splits); ++s) {
    Parameters parameters(Device::cpu());
    const Narrow net(parameters.root());
    Session session(parameters, Accumulate{Adam{}}, {.global_batch = window, .seed = 7});
    for (int w = 0; w < 3; ++w)
      for (std::size_t at = 0; std::size_t part : splits[s]) {
        session.accumulate(static_cast<std::int64_t>(part), [&](EagerTape& tape) {
          return net.loss(tape.input(cut(image, at, part), {1, 4, 4}), tape.input(cut(token, at, part)),
                          tape.input(cut(label, at, part)));
        });
        at += part;
      }
    EXPECT_EQ(session.step_count(), 3);
    trained[s].assign(parameters.values().begin(), parameters.values().end());
    EXPECT_EQ(differing_bits(std::as_bytes(std::span(trained[0])), std::as_bytes(std::span(trained[s]))), 0) << s;
  }
}

/// More parameters than an update takes at a time.
struct Wide {
  nn::Linear hidden, output;
  constexpr explicit Wide(Scope s) : hidden(s / "hidden", 9, 700), output(s / "output", 700, 5) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(relu(hidden(x))), label)}; }
};
using WideNet = Compiled<Wide, Inputs<f32[9], i32>>;

TEST(EagerUpdate, OfManyParametersIsOneUpdate) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  const auto record = [](const auto& net, EagerTape& t, auto in, auto label) {
    return net.loss(t.input(in, {9}), t.input(label));
  };
  expect_compiled_bits<WideNet, Wide>(Accumulate{Adam{}}, splits[2], record, x, y);
  expect_compiled_bits<WideNet, Wide>(Accumulate{ClipByGlobalNorm{Sgd{.momentum = 0.9f}, 0.1}}, splits[2], record, x, y);
}

/// An op of every kind, large enough to be shared out; widths that no number of threads divides.
struct OfEveryKind {
  nn::Conv2d conv;
  nn::Embedding table;
  nn::Linear hidden, output;
  explicit OfEveryKind(Scope s)
      : conv(s / "conv", 1, 17, 3, {.padding = 1}), table(s / "table", 50, 130), hidden(s / "hidden", 17 * 36, 130),
        output(s / "output", 130, 5) {}
  Loss loss(Var image, Var tokens, Var label) const {
    const Var x = dropout(tanh(hidden(flatten(max_pool2d(relu(conv(image)), 2)))), 0.3), t = table(tokens);
    const Var attended = matmul(softmax(matmul(t, t, false, true)), t);
    return {cross_entropy(output(x + sum(attended, {1}) / sum(attended * attended, {1})), label),
            metric("best", argmax(x) == label)};
  }
};

TEST(EagerThreads, ChangeNoBit) {
  const auto x = numbers(window * 144);
  const auto tokens = labels(window * 16, 50), y = labels(window, 5);
  const auto trained = [&](int threads, std::int64_t micro_batch) {
    Parameters parameters(Device::cpu());
    const OfEveryKind net(parameters.root());
    Session session(parameters, Accumulate{Adam{}}, {.global_batch = window, .micro_batch = micro_batch, .threads = threads});
    session.accumulate(window, [&](EagerTape& tape) {
      return net.loss(tape.input(x, {1, 12, 12}), tape.input(tokens, {16}), tape.input(y));
    });
    EXPECT_EQ(session.step_count(), 1);
    return std::vector<std::byte>(session.parameter_bytes().begin(), session.parameter_bytes().end());
  };
  const auto one = trained(1, window);
  for (const int threads : {2, 3}) EXPECT_EQ(differing_bits(one, trained(threads, window)), 0) << threads;
  EXPECT_EQ(differing_bits(one, trained(3, 500)), 0);
}

/// Weights that go through ops of their own, and one that is used twice: much of backward waits for the window's end.
struct Tied {
  Parameter weight, scale, unused;
  constexpr explicit Tied(Scope s)
      : weight(s.parameter("weight", Shape{6, 6}, init::normal(0.5))), scale(s.parameter("scale", Shape{6}, init::constant(1))),
        unused(s.parameter("unused", Shape{2}, init::constant(1))) {}
  constexpr Loss loss(Var x) const {
    const Var v = weight.on(x), w = v / sqrt(sum(v * v, {0}, true)) * scale.on(x);
    return {sum(square(matmul(tanh(matmul(x, w)), w, false, true)), {-1})};
  }
};
using TiedNet = Compiled<Tied, Inputs<f32[6]>>;

TEST(EagerBoundary, RunsWhatNoSampleEntersOnce) {
  const auto x = numbers(window * 6);
  for (const Split& split : splits)
    expect_compiled_bits<TiedNet, Tied>(Accumulate{Adam{}}, split,
                                        [](const auto& net, EagerTape& t, auto in) { return net.loss(t.input(in, {6})); }, x);
}

/// A recurrence as long as the longest sequence of a part; shorter ones keep their state.
struct Countdown {
  Parameter rate;
  explicit Countdown(Scope s) : rate(s.parameter("rate", Shape{4}, init::constant(0.5))) {}
  Loss loss(Var x, Var length) const {
    Var h = x;
    const Tensor lengths = value(length);
    const auto host = lengths.values<float>();
    const float longest = *std::max_element(host.begin(), host.end());
    for (int t = 0; static_cast<float>(t) < longest; ++t) {
      const Var goes_on = reshape(length, Shape::per_sample({1})) > static_cast<double>(t);
      h = where(goes_on * constant_like(h, 1), h * rate.on(h) + x, h);
    }
    return {sum(h, {-1})};
  }
};

/// A penalty on the weights.
struct Penalised {
  nn::Linear output;
  constexpr explicit Penalised(Scope s) : output(s / "output", 9, 5) {}
  constexpr Loss loss(Var x, Var label) const {
    const Var w = parameter(*x.tape, 0);
    return Loss(cross_entropy(output(x), label)).plus(sum(square(w), {0, 1}) * 0.25);
  }
};
using PenalisedNet = Compiled<Penalised, Inputs<f32[9], i32>>;

TEST(EagerBoundary, ATermOfParametersEntersOnce) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  for (const Split& split : splits)
    expect_compiled_bits<PenalisedNet, Penalised>(
        Accumulate{Adam{}}, split,
        [](const auto& net, EagerTape& t, auto in, auto label) { return net.loss(t.input(in, {9}), t.input(label)); }, x, y);
}

/// The gradient of `Countdown` over a window in each of the splits, against the sum by hand.
void expect_sums(const std::vector<float>& x, const std::vector<float>& length, const std::vector<Split>& all) {
  std::vector<std::vector<float>> gradients;
  for (const Split& split : all) {
    Parameters parameters(Device::cpu());
    const Countdown net(parameters.root());
    Session session(parameters, Accumulate{Sgd{}}, {.global_batch = window});
    std::size_t at = 0;
    for (std::size_t part : split) {
      session.accumulate(static_cast<std::int64_t>(part), [&](EagerTape& tape) {
        return net.loss(tape.input(cut(x, at, part), {4}), tape.input(cut(length, at, part)));
      });
      at += part;
    }
    gradients.emplace_back(session.last_gradient().begin(), session.last_gradient().end());
  }
  for (std::size_t i = 0; i < 4; ++i) {
    double exact = 0;  // Σ dh/dp by hand: h ← h·p + x, so dh ← dh·p + h
    for (std::size_t s = 0; s < window; ++s) {
      double h = x[s * 4 + i], d = 0;
      for (int t = 0; static_cast<float>(t) < length[s]; ++t) d = d * 0.5 + h, h = h * 0.5 + x[s * 4 + i];
      exact += d;
    }
    for (const auto& g : gradients) EXPECT_NEAR(g[i], exact, 1e-4);
  }
}

TEST(EagerControlFlow, LengthsThatDependOnTheDataAddUpAcrossTheWindow) {
  const auto x = numbers(window * 4);
  std::vector<float> length(window);
  for (std::size_t i = 0; i < window; ++i) length[i] = static_cast<float>(i / 100 + 1);  // parts of 100: 1 to 6 steps
  expect_sums(x, length, {splits[0], splits[1]});
  // A part that ends its block, and one like it that begins inside a later block.
  for (std::size_t i = 0; i < window; ++i) length[i] = i >= 128 && i < 140 ? 2.0f : 1.0f;
  expect_sums(x, length, {{100, 28, 12, 460}, {100, 28, 12, 60, 400}});
}

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

TEST(EagerSessionRules, TheGradientOfAWindowIsNotKnownInside) {
  const auto x = numbers(40);
  Parameters parameters(Device::cpu());
  const Countdown net(parameters.root());
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
  const Countdown net(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 30});
  Var kept;
  for (int part = 0; part < 3; ++part) {
    session.accumulate(10, [&](EagerTape& tape) {
      const Var in = tape.input(x, {4});
      kept = in * net.rate.on(in);
      EXPECT_EQ(value(kept).size(), 40);
      return Loss(sum(kept, {-1}));
    });
    EXPECT_THROW(value(kept), TapeError);
  }
}

TEST(EagerSessionRules, PenaltyOnTheGradientByTheInputIsTrained) {
  const auto x = numbers(40);
  Parameters parameters(Device::cpu());
  const Countdown net(parameters.root());
  Session session(parameters, Accumulate{Sgd{.learning_rate = 0.25f}}, {.global_batch = 10});
  session.accumulate(10, [&](EagerTape& tape) {
    const Var in = tape.input(x, {4});
    const Var g = gradients(sum(square(in) * net.rate.on(in), {-1}), {in})[0];  // 2·x·p
    return Loss(sum(square(g), {-1}));                                          // its gradient by p: 8·x²·p
  });
  for (std::size_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (std::size_t s = 0; s < 10; ++s) sum += 8.0 * x[s * 4 + i] * x[s * 4 + i] * 0.5;
    EXPECT_NEAR(session.last_gradient()[i], sum, 1e-5);
  }
}

TEST(EagerSession, HasGradientsOfZeroBeforeAStep) {
  const Device device = Device::cpu();
  for (const int pieces : {1, 2}) {  // which the session's memory then comes from
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
  const Countdown net(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 4});
  const auto x = numbers(16);
  std::vector<float> w(4, 0.0f);
  const auto record = [&](EagerTape& tape) {
    const Var in = tape.input(x, {4});
    return Loss(sum(in * net.rate.on(in), {-1})).weighted_by(tape.input(w));
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
    EXPECT_STREQ(error.what(), "parameter 2 of 2 on this tape: it was declared since, or elsewhere");
  }
  EXPECT_THROW(EagerTape{parameters}, TapeError);
  EXPECT_THROW(parameters.initialize(2), TapeError);
  EXPECT_THROW((Session(parameters, Accumulate{Sgd{}}, {.global_batch = 1})), TapeError);
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
  EXPECT_THROW(session.state(), TapeError);  // of values that there are not
}

}  // namespace
