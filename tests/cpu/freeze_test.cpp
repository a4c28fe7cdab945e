// Frozen parameters: not a bit of them or of their optimizer state changes, whatever the rule does, and what is not
// frozen learns as if the others' gradients were zero.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../long_rule.hpp"
#include "../models.hpp"

namespace freeze_test {

using namespace models;

using Bytes = std::vector<std::byte>;

Bytes copy(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }
Bytes copy(std::span<const float> values) { return copy(std::as_bytes(values)); }

constexpr auto decaying_sgd = Accumulate{Sgd{.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.1f}};
constexpr auto decaying_adam = Accumulate{AdamW{.learning_rate = 0.1f, .weight_decay = 0.1f}};
constexpr auto clipped = Accumulate{ClipByGlobalNorm{decaying_sgd.inner, 0.05f}};

/// Returns the bytes of one parameter in each array of the optimizer's state.
template <class S>
std::vector<Bytes> state_of(const S& session, std::string_view name) {
  const auto parameters = session.parameters();
  const auto at = static_cast<std::size_t>(parameters[name].values.data() - parameters.values().data()) * 4;
  const std::size_t bytes = parameters[name].values.size_bytes(), arena = session.parameter_bytes().size();
  std::vector<Bytes> result;
  for (std::size_t begin = at; begin < session.optimizer_state_bytes().size(); begin += arena)
    result.push_back(copy(session.optimizer_state_bytes().subspan(begin, bytes)));
  return result;
}

template <class Optimizer>
void expect_frozen(const Optimizer& optimizer, const std::vector<std::string>& freeze = {"hidden/*"}) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  Session session(ClassifierNet{}, optimizer, {.global_batch = 64, .micro_batch = 24, .seed = 3, .freeze = freeze});
  for (float& value : session.parameters()["hidden/bias"].values) value = -0.0f;  // a sign is a bit as well
  const auto state = session.optimizer_state_bytes();
  std::memset(const_cast<std::byte*>(state.data()), 0x3f, state.size());  // as after other training
  const auto names = {"hidden/weight", "hidden/bias", "output/weight", "output/bias"};
  std::vector<Bytes> before;
  std::vector<std::vector<Bytes>> state_before;
  for (const char* name : names) {
    before.push_back(copy(session.parameters()[name].values));
    state_before.push_back(state_of(session, name));
    EXPECT_FALSE(state_before.back().empty());
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(session.accumulate(x, y), 1);
  std::size_t at = 0;
  for (const char* name : names) {
    const bool frozen = std::ranges::any_of(freeze, [&](const std::string& pattern) { return matches(pattern, name); });
    EXPECT_EQ(copy(session.parameters()[name].values) == before[at], frozen) << name;
    EXPECT_EQ(state_of(session, name) == state_before[at], frozen) << name;
    ++at;
  }
}

TEST(Freeze, ChangesNoBitUnderMomentumAndDecay) { expect_frozen(decaying_sgd); }
TEST(Freeze, ChangesNoBitUnderAdamW) { expect_frozen(decaying_adam); }
TEST(Freeze, ChangesNoBitUnderClipping) { expect_frozen(clipped); }
TEST(Freeze, ChangesNoBitBetweenParametersThatLearn) { expect_frozen(decaying_sgd, {"hidden/bias", "output/weight"}); }

/// loss = a · x + b · y, so that the gradients are the means of x and y.
struct TwoMeans {
  Parameter a, b;
  constexpr explicit TwoMeans(Scope s)
      : a(s.parameter("a", Shape{2}, init::constant(1))), b(s.parameter("b", Shape{2}, init::constant(1))) {}
  constexpr Loss loss(Var x, Var y) const { return {sum(x * a, {-1}) + sum(y * b, {-1})}; }
};
using TwoMeansNet = Compiled<TwoMeans, Inputs<f32[2], f32[2]>>;

TEST(Freeze, ANormDoesNotSeeWhatIsFrozen) {
  const std::vector<float> x{3, 4}, y{1000, 1000};
  const auto optimizer = Accumulate{ClipByGlobalNorm{Sgd{.learning_rate = 1}, 1.0}};
  Session session(TwoMeansNet{}, optimizer, {.global_batch = 1, .freeze = {"b"}});
  session.accumulate(x, y);
  EXPECT_NEAR(session.parameters()["a"].values[0], 1 - 0.6, 1e-6);
  EXPECT_NEAR(session.parameters()["a"].values[1], 1 - 0.8, 1e-6);
  EXPECT_EQ(session.parameters()["b"].values[0], 1.0f);
  Session free(TwoMeansNet{}, optimizer, {.global_batch = 1});  // here it sees b
  free.accumulate(x, y);
  EXPECT_GT(free.parameters()["a"].values[0], 0.99f);
}

TEST(Freeze, AnUpdateOfSeveralLoopsIsMadeOfTheRest) {
  const std::vector<float> x{0.3f, -0.4f}, y{0.1f, 0.2f};
  Session session(TwoMeansNet{}, Accumulate{LongRule{}}, {.global_batch = 1, .freeze = {"b"}});
  Session free(TwoMeansNet{}, Accumulate{LongRule{}}, {.global_batch = 1});
  session.accumulate(x, y);
  free.accumulate(x, y);
  EXPECT_EQ(differing_bits(copy(session.parameters()["a"].values), copy(free.parameters()["a"].values)), 0);
  EXPECT_LT(free.parameters()["a"].values[0], 1.0f);
  EXPECT_LT(free.parameters()["b"].values[0], 1.0f);
  EXPECT_EQ(session.parameters()["b"].values[0], 1.0f);
}

/// Decay before the norm is taken: a rule in which parameters, not only gradients, enter a norm.
struct DecayThenClip {
  using State = StateOf<Sgd>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    return ClipByGlobalNorm{Sgd{.learning_rate = 1}, 1.0}(parameter, gradient + parameter, state, step);
  }
};

TEST(Freeze, NeitherDoesARuleInWhichParametersEnterTheNorm) {
  Session session(TwoMeansNet{}, Accumulate{DecayThenClip{}}, {.global_batch = 1, .freeze = {"b"}});
  for (float& value : session.parameters()["b"].values) value = 1e6f;
  session.accumulate(std::vector<float>{2, 3}, std::vector<float>{7, 7});
  EXPECT_NEAR(session.parameters()["a"].values[0], 1 - 0.6, 1e-6);
  EXPECT_EQ(session.parameters()["b"].values[1], 1e6f);
}

TEST(Freeze, TheRestLearnsAsIfTheGradientsWereZero) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  const auto free = Session(ClassifierNet{}, clipped, {.global_batch = 64, .micro_batch = 64, .seed = 3});
  Session gradients(ClassifierNet{}, clipped, {.global_batch = 65, .micro_batch = 64, .seed = 3});
  gradients.accumulate(x, y);
  gradients.close_blocks();
  std::vector<float> sum(gradients.accumulator().begin(), gradients.accumulator().end());
  const std::size_t hidden = 9 * 17 + 17;
  std::fill_n(sum.begin(), hidden, 0.0f);
  gradients.apply(sum, 64);
  Session frozen(ClassifierNet{}, clipped, {.global_batch = 64, .seed = 3, .freeze = {"hidden/weight", "*/bias"}});
  Session part(ClassifierNet{}, clipped, {.global_batch = 64, .seed = 3, .freeze = {"hidden*"}});
  frozen.accumulate(x, y);
  part.accumulate(x, y);
  EXPECT_EQ(copy(part.parameters()["output/weight"].values), copy(gradients.parameters()["output/weight"].values));
  EXPECT_EQ(copy(part.parameters()["output/bias"].values), copy(gradients.parameters()["output/bias"].values));
  EXPECT_EQ(copy(frozen.parameters()["output/bias"].values), copy(free.parameters()["output/bias"].values));
  EXPECT_NE(copy(frozen.parameters()["output/weight"].values), copy(free.parameters()["output/weight"].values));
}

TEST(Freeze, AnUnknownNameIsRefusedWithTheKnownOnes) {
  for (const char* name : {"hidden/weigh", "hidden", "*x*", ""}) {
    try {
      Session(ClassifierNet{}, decaying_sgd, {.global_batch = 64, .freeze = {"output/*", name}});
      ADD_FAILURE() << "accepted " << name;
    } catch (const OptionError& error) {
      EXPECT_EQ(error.what(), "freeze: no parameter is named '" + std::string(name) +
                                  "'; there are 'hidden/weight', 'hidden/bias', 'output/weight', 'output/bias'");
    }
  }
}

TEST(Freeze, PatternsMatchAnyRunOfCharacters) {
  using gradual::matches;
  static_assert(matches("*", "a/b") && matches("a*", "a") && matches("*/bias", "x/y/bias") &&
                matches("a*c*e", "abcde"));
  static_assert(matches("*", "") && matches("a**b*", "axbxb") && matches("*ab", "aab") && !matches("*ab*c", "abab"));
  EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(200, 'a')));
  static_assert(!matches("a", "ab") && !matches("a*c", "abd") && !matches("", "a") && !matches("*/bias", "bias"));
}

TEST(Freeze, ItsMemoryIsPlanned) {
  using Layout = TrainingLayout<ClassifierNet, std::remove_const_t<decltype(clipped.inner)>>;
  const auto planned = [](std::int64_t micro_batch, const std::vector<std::string>& freeze) {
    return Session(ClassifierNet{}, clipped, {.global_batch = 8, .micro_batch = micro_batch, .freeze = freeze}).memory();
  };
  EXPECT_EQ(planned(1, {"hidden/weight"}).update, planned(1, {}).update + aligned(9 * 17 * 4 * 2));
  EXPECT_EQ(planned(1, {"*"}).total(),
            Layout(1, 8, OpenBlocks::always).table(false, ClassifierNet::parameter_elements).total());
  EXPECT_GT(planned(1, {"*"}).total(), planned(1, {}).total());

  const TrainerOptions options{.global_batch = 8, .memory_budget = 10'000, .freeze = {"*"}};
  Trainer trainer(ClassifierNet{}, clipped, options);
  EXPECT_LE(trainer.memory().total(), 10'000);
  EXPECT_EQ(trainer.memory().update, planned(1, {"*"}).update);
}

TEST(Freeze, NothingIsKeptAsideFromAnUpdateByElement) {
  const auto planned = [](const auto& rule, const std::vector<std::string>& freeze) {
    return Session(ClassifierNet{}, rule, {.global_batch = 8, .micro_batch = 1, .freeze = freeze}).memory().total();
  };
  EXPECT_EQ(planned(decaying_adam, {"hidden/*"}), planned(decaying_adam, {}));
  EXPECT_EQ(planned(Accumulate{Ema{decaying_sgd.inner}}, {"hidden/*"}), planned(Accumulate{Ema{decaying_sgd.inner}}, {}));
  EXPECT_GT(planned(decaying_adam.in<double>(), {"hidden/*"}), planned(decaying_adam.in<double>(), {}));
  constexpr Planning all{.frozen = ClassifierNet::parameter_elements};
  static_assert(ClassifierNet::training_memory(decaying_adam, 1, all).total() ==
                ClassifierNet::training_memory(decaying_adam, 1).total());
}

TEST(Freeze, AWindowMayBeSplitAnyHow) {
  const auto x = numbers(300 * 9);
  const auto y = labels(300, 5);
  const SessionOptions options{.global_batch = 300, .freeze = {"output/weight"}};
  Session whole(ClassifierNet{}, decaying_adam, options), parts(ClassifierNet{}, decaying_adam, options);
  for (int i = 0; i < 3; ++i) {
    whole.accumulate(x, y);
    for (std::size_t at = 0; at < 300; at += 75)
      parts.accumulate(std::span(x).subspan(at * 9, 75 * 9), std::span(y).subspan(at, 75));
  }
  EXPECT_EQ(differing_bits(whole.parameter_bytes(), parts.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(whole.optimizer_state_bytes(), parts.optimizer_state_bytes()), 0);
}

TEST(Freeze, OnlyARuleThatIsEvaluatedTwicePutsBackWhatWentElsewhere) {
  const SessionOptions options{.global_batch = 8, .freeze = {"hidden/*"}};
  Session session(ClassifierNet{}, decaying_adam, options);
  session.accumulate(numbers(8 * 9), labels(8, 5));
  Checkpoint state = session.state();
  state.notes["again"] = "8";
  const Bytes before = copy(session.parameters().values());
  session.restore(state);
  EXPECT_EQ(copy(session.parameters().values()), before);
}

/// Draws parameters back towards their values in the last two steps.
template <class Inner>
struct Trailing {
  Inner inner;
  static constexpr bool follows_parameters = true;
  struct State {
    StateOf<Inner> inner;
    Var last, before;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto next = apply_rule(inner, parameter, gradient, state.inner, step);
    const Var last = where(step == 1.0, parameter, state.last), before = where(step == 1.0, parameter, state.before);
    return update(0.5 * next.parameter + 0.25 * (last + before), State{next.state, next.parameter, last});
  }
};

/// The same as a rule by itself; its first state, the number of its steps, follows nothing.
struct TrailingDescent {
  Scalar learning_rate = 0.1;
  static constexpr bool follows_parameters(int index) { return index > 0; }
  struct State {
    Var steps, last, before;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var next = parameter - learning_rate * gradient;
    const Var last = where(step == 1.0, parameter, state.last), before = where(step == 1.0, parameter, state.before);
    return update(0.5 * next + 0.25 * (last + before), State{state.steps + 1.0, next, last});
  }
};

/// States that it follows no parameters.
template <class Inner>
struct Apart : Trailing<Inner> {
  static constexpr bool follows_parameters = false;
};

/// Follows with one number for each parameter.
struct FollowingMean {
  static constexpr bool follows_parameters = true;
  struct State {
    Var mean;
  };
  static constexpr Shape state_shape(int, const Shape&) { return {}; }
  constexpr auto operator()(Var parameter, Var, State state) const { return update(parameter, state); }
};

/// Expects a rule's last `following` states, averages or slow parameters, to equal the parameters that are frozen.
template <class Optimizer>
void expect_following(const Optimizer& optimizer, int following = 1) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  Session session(ClassifierNet{}, optimizer, {.global_batch = 64, .seed = 3, .freeze = {"hidden/*"}});
  for (int i = 0; i < 4; ++i) session.accumulate(x, y);
  for (const char* name : {"hidden/weight", "hidden/bias"})
    for (int own = 1; own <= following; ++own)
      EXPECT_EQ(state_of(session, name).end()[-own], copy(session.parameters()[name].values)) << name;
  EXPECT_NE(state_of(session, "output/weight").back(), copy(session.parameters()["output/weight"].values));

  Session thawed(ClassifierNet{}, optimizer, {.global_batch = 64, .micro_batch = 10, .seed = 3});
  thawed.restore(session.state());
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session eager(parameters, optimizer, {.global_batch = 64, .seed = 3, .freeze = {"hidden/*"}});
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); };
  for (int i = 0; i < 4; ++i) eager.accumulate(64, record);
  Session eager_thawed(parameters, optimizer, {.global_batch = 64, .seed = 3});
  eager_thawed.restore(eager.state());
  for (int i = 0; i < 2; ++i) thawed.accumulate(x, y), eager_thawed.accumulate(64, record);
  EXPECT_EQ(differing_bits(copy(thawed.parameters().values()), copy(parameters.values())), 0);
}

TEST(Freeze, WhatFollowsTheParametersStaysWithThem) {
  expect_following(Accumulate{Ema{Adam{}, 0.5}});
  expect_following(Accumulate{Lookahead{Sgd{.learning_rate = 0.1f}, schedule::every(3), 0.5}});
  expect_following(Accumulate{Trailing<Sgd>{}}, 2);
  expect_following(Accumulate{TrailingDescent{}}, 2);
}

TEST(Freeze, RulesSayWhichOfTheirStatesFollow) {
  EXPECT_EQ(following_states<Trailing<Adam>>(), 0b1100);
  EXPECT_EQ(following_states<Apart<Adam>>(), 0);
  EXPECT_EQ(following_states<Ema<Apart<Adam>>>(), 0b10000);
  EXPECT_EQ(following_states<Trailing<TrailingDescent>>(), 0b11110);
  EXPECT_EQ(error_of<ShapeError>([] { trace_update(FollowingMean{}, 3); }),
            "value 0 of an update rule's State, which follows the parameters, has the shape [] for a parameter of [3]");
}

}  // namespace freeze_test
