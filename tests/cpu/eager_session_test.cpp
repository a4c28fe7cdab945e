// Eager sessions end in the bits of compiled ones, however a window is split; and what only they can do.
#include <gtest/gtest.h>

#include <limits>

#include "../error_of.hpp"
#include "../models.hpp"

namespace eager_session_test {

using namespace models;

constexpr std::size_t window = 600;  // four closed blocks of 128 and an open one
using Split = std::vector<std::size_t>;
const Split splits[] = {{window}, Split(6, 100), {7, 100, 1, 300, 192}};

/// Returns samples [begin, begin + count) of data that holds `window` samples.
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

/// A value with three uses, one of which is recorded in a different place at compile time and at run time.
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

TEST(EagerInputs, OfAFunctionsOwnAreKeptByTheTape) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  const auto train = [&](auto input) {
    Parameters parameters(Device::cpu());
    const Classifier net(parameters.root());
    Session session(parameters, Accumulate{Sgd{}}, {.global_batch = window, .micro_batch = 41});
    session.accumulate(window, [&](EagerTape& tape) {
      const Var in = input(tape), label = tape.input(y);
      return net.loss(in, label);
    });
    EXPECT_EQ(session.step_count(), 1);
    const auto bytes = session.parameter_bytes();
    return std::pair(session.last_window().loss(), std::vector(bytes.begin(), bytes.end()));
  };
  const auto in_place = train([&](EagerTape& tape) { return tape.input(x, {9}); });
  const auto kept = train([&](EagerTape& tape) {
    std::vector<float> own(x);
    return tape.input(std::move(own), {9});
  });
  EXPECT_EQ(in_place, kept);
  EagerTape tape(Device::cpu(), 2);
  EXPECT_THROW(tape.input(std::vector<float>(5), {3}), DataError);
}

template <class Optimizer>
class EagerSession : public testing::Test {};
using Optimizers = testing::Types<Sgd, Adam, ClipByGlobalNorm<AdamW>>;
TYPED_TEST_SUITE(EagerSession, Optimizers);

TYPED_TEST(EagerSession, HasTheBitsOfTheCompiledStep) {
  const Accumulate<TypeParam> optimizer{};
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  for (const Split& split : splits)
    expect_compiled_bits<ClassifierNet, Classifier>(
        optimizer, split,
        [](const Classifier& net, EagerTape& t, auto in, auto label) { return net.loss(t.input(in, {9}), t.input(label)); },
        x, y);
}

TEST(EagerNets, HaveTheBitsOfCompiledOnes) {
  const Accumulate<Adam> optimizer{};
  const auto x9 = numbers(window * 9), x4 = numbers(window * 4), y3 = numbers(window * 3, 2), x18 = numbers(window * 18),
             y6 = numbers(window * 6, 2);
  auto weights = numbers(window, 3);
  for (float& w : weights) w = w < 0 ? 0.0f : w;
  const auto y = labels(window, 5);
  for (const Split& split : splits) {
    expect_compiled_bits<DroppedNet, Dropped>(
        optimizer, split,
        [](const Dropped& net, EagerTape& t, auto in, auto label) { return net.loss(t.input(in, {9}), t.input(label)); },
        x9, y);
    expect_compiled_bits<WeightedNet, WeightedRegression>(
        optimizer, split,
        [](const WeightedRegression& net, EagerTape& t, auto in, auto to, auto w) {
          return net.loss(t.input(in, {4}), t.input(to, {3}), t.input(w));
        },
        x4, y3, weights);
    expect_compiled_bits<SequenceNet, Sequence>(
        optimizer, split,
        [](const Sequence& net, EagerTape& t, auto in, auto to) {
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

/// Ops of every kind, large enough to be split among threads, with widths that no number of threads divides.
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

/// Weights that pass through ops alone, one of them used twice: much of backward waits for the window's end.
struct Tied {
  Parameter weight, scale, unused;
  constexpr explicit Tied(Scope s)
      : weight(s.parameter("weight", Shape{6, 6}, init::normal(0.5))), scale(s.parameter("scale", Shape{6}, init::constant(1))),
        unused(s.parameter("unused", Shape{2}, init::constant(1))) {}
  constexpr Loss loss(Var x) const {
    const Var v = weight.on(x), w = v / sqrt(sum(v * v, {0}, true)) * scale;
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
      h = where(goes_on * constant_like(h, 1), h * rate + x, h);
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

/// Compares the gradient of `Countdown` over a window, for each of the splits, with the sum by hand.
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

/// A label that nothing may read: it is far outside of all memory.
TEST(EagerLabels, AreCheckedBeforeWhatTheyChooseIsRead) {
  const auto x = numbers(8 * 9);
  std::vector<std::int32_t> y = labels(8, 5);
  y[6] = 1'000'000'000;
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  const Parameter weights = parameters.root().parameter("weights", Shape{5, 1}, init::constant(1));
  const auto refused = [&](const SessionOptions& options, auto make) {
    Session session(parameters, Accumulate{Sgd{}}, options);
    const std::string text = error_of<DataError>([&] {
      session.accumulate(8, [&](EagerTape& tape) {
        const Var in = tape.input(x, {9}), label = tape.input(y);
        return make(net.loss(in, label), label);
      });
    });
    EXPECT_EQ(session.position(), 0);
    return text;
  };
  EXPECT_EQ(refused({.global_batch = 8, .freeze = {"weights"}, .window_weight = 6.0},
                    [&](const Loss& loss, Var label) {
                      return Loss(loss.value).weighted_by(select(gather(weights.on(loss.value), label), 1, 0));
                    }),
            "input 1, sample 6: label 1000000000 is outside the 5 classes 0 to 4");
  EXPECT_EQ(refused({.global_batch = 8, .freeze = {"weights"}},
                    [&](const Loss& loss, Var label) {
                      EXPECT_THROW(value(loss.value), DataError);
                      const Tensor seen = value(gather(weights.on(loss.value), label));
                      return Loss(loss.value * static_cast<double>(seen.values<float>()[0]));
                    }),
            "cross_entropy: label 1000000000 at position 6 is outside the 5 classes 0 to 4");
}

TEST(EagerLabels, AreNamedByTheirSampleInEvaluationsToo) {
  const auto x = numbers(40 * 9);
  std::vector<std::int32_t> y = labels(40, 5);
  y[27] = 5;
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 8, .micro_batch = 4});
  const auto record = [&](EagerTape& tape) {
    const Var in = tape.input(x, {9}), label = tape.input(y);
    return net.loss(in, label);
  };
  const std::string why = "input 1, sample 27: label 5 is outside the 5 classes 0 to 4";
  EXPECT_EQ(error_of<DataError>([&] { session.evaluate(40, record); }), why);
  EXPECT_EQ(error_of<DataError>([&] { session.losses(40, record); }), why);
  EXPECT_EQ(error_of<DataError>([&] { session.predict(40, [&](EagerTape& tape) { return record(tape).value; }); }), why);
}

}  // namespace eager_session_test
