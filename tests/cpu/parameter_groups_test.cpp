// Two rules, each for some of the parameters, by rank or by name: the bits of each rule alone, given the same gradients.
#include <gtest/gtest.h>

#include <gradual/check/test_splits.hpp>

#include "../error_of.hpp"
#include "../models.hpp"

namespace parameter_groups_test {

using namespace models;

constexpr std::int64_t samples = 64;
const auto inputs = numbers(samples * 9);
const auto classes = labels(samples, 5);

/// A loss whose gradient does not depend on the parameters, so that the rules do not influence each other.
struct Slopes {
  nn::Linear hidden;
  Parameter scale, kernels;
  constexpr explicit Slopes(Scope s)
      : hidden(s / "hidden", 9, 4), scale(s.parameter("scale", Shape{9}, init::uniform(1))),
        kernels(s.parameter("kernels", Shape{1, 3, 3}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    return Loss(sum(hidden(x), {1}) + sum(x * scale, {1}) + sum(x * reshape(kernels.on(x), {9}), {1}));
  }
};
using SlopesNet = Compiled<Slopes, Inputs<f32[9]>>;

using Values = std::vector<std::vector<float>>;  ///< of each parameter

/// Trains six steps eagerly: the rule is recorded as for compilation, which would take a second each.
template <class Rule>
Values trained(const Rule& rule, std::vector<std::string> freeze = {}) {
  Parameters parameters(Device::cpu());
  const Slopes net(parameters.root());
  Session session(parameters, Accumulate{rule}, {.global_batch = samples / 2, .seed = 7, .freeze = std::move(freeze)});
  for (int i = 0; i < 3; ++i)
    session.accumulate(samples, [&](EagerTape& tape) { return net.loss(tape.input(inputs, {9})); });
  EXPECT_EQ(session.step_count(), 6);
  Values values;
  for (int p = 0; p < SlopesNet::parameter_count; ++p) {
    const auto of = parameters[SlopesNet::parameter(p).name.view()].values;
    values.emplace_back(of.begin(), of.end());
  }
  return values;
}

constexpr AdamW adamw{.learning_rate = schedule::cosine(0.1, 6), .weight_decay = 0.1};
constexpr Lion lion{.learning_rate = 0.03, .weight_decay = 0.2};
constexpr Sgd momentum{.learning_rate = 0.2, .momentum = 0.9};

template <class Both, class Inner, class Others>
void expect_each(const Both& rule, const Inner& inner, const Others& others, std::initializer_list<std::string_view> of_inner) {
  const Values both = trained(rule), first = trained(inner), second = trained(others);
  for (std::size_t p = 0; p < both.size(); ++p) {
    const std::string_view name = SlopesNet::parameter(static_cast<int>(p)).name.view();
    const bool is_inner = std::ranges::find(of_inner, name) != of_inner.end();
    EXPECT_EQ(both[p] == first[p], is_inner) << name;
    EXPECT_EQ(both[p] == second[p], !is_inner) << name;
  }
}

TEST(ParameterGroups, OfRanksAreUpdatedByEachRule) {
  const auto matrices = {std::string_view("hidden/weight"), std::string_view("kernels")};
  expect_each(ByRank{lion, adamw}, lion, adamw, matrices);
  expect_each(ByRank{Muon{}, momentum}, Muon{}, momentum, matrices);
}

TEST(ParameterGroups, OfNamesAreUpdatedByEachRule) {
  const auto some = {std::string_view("hidden/bias"), std::string_view("kernels")};
  const ParameterNames names{{"*/bias", "kern*"}};
  expect_each(ByName{lion, adamw, names}, lion, adamw, some);
  expect_each(ByName{Lamb{}, lion, names}, Lamb{}, lion, some);
}

TEST(ParameterGroups, ShareThePlacesOfTheirStates) {
  const auto bytes = [](auto rule) { return SlopesNet::training_memory(Accumulate{rule}, 1).optimizer_state; };
  EXPECT_EQ(bytes(ByRank{lion, adamw}), bytes(adamw));
  EXPECT_EQ(bytes(ByRank{adamw, lion}), bytes(adamw));
  EXPECT_EQ(bytes(ByName{lion, adamw, {{"*"}}}), bytes(ScaleUpdate{adamw, 0.5}));  // which has marks as well
}

/// An op that belongs to a rule.
struct Softsign {
  static constexpr const char* name = "softsign";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x / (T(1) + (x < T(0) ? -x : x));
  }
};
struct SoftSteps {
  using Ops = OpList<Softsign>;
  Scalar learning_rate = 0.1;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(parameter - learning_rate * elementwise<Softsign>(gradient), state);
  }
};
TEST(ParameterGroups, MayUseOpsOfTheirOwn) {
  expect_each(ByRank{lion, SoftSteps{}}, lion, SoftSteps{}, {"hidden/weight", "kernels"});
  expect_each(ByName{SoftSteps{}, lion, {{"scale"}}}, SoftSteps{}, lion, {"scale"});
  const SoftSteps slow{.learning_rate = 0.01};
  expect_each(ByRank{slow, SoftSteps{}}, slow, SoftSteps{}, {"hidden/weight", "kernels"});
}

/// A sum over everything that a rule sees covers only its own parameters.
TEST(ParameterGroups, OfNamesSeeNothingOfEachOther) {
  struct Normed {
    Scalar learning_rate = 0.1;
    struct State {
      Var sum;
    };
    constexpr auto operator()(Var parameter, Var gradient, State state) const {
      const Var all = state.sum + gradient;
      return update(parameter - learning_rate * gradient / sqrt(sum(all * all, {0})), State{all});
    }
  };
  const ByName rule{Normed{}, lion, {{"scale"}}};
  const std::vector<std::string> others = {"hidden/*", "kernels"};
  const Values both = trained(rule), alone = trained(Normed{}, others), named = trained(rule, others);
  const std::size_t scale = 2;
  ASSERT_EQ(SlopesNet::parameter(scale).name.view(), "scale");
  EXPECT_EQ(both[scale], named[scale]);
  EXPECT_EQ(both[scale], alone[scale]);
}

/// A matrix and a vector.
struct Layer {
  nn::Linear layer;
  constexpr explicit Layer(Scope s) : layer(s / "layer", 9, 5) {}
  constexpr Loss loss(Var x, Var label) const { return cross_entropy(layer(x), label); }
};
using LayerNet = Compiled<Layer, Inputs<f32[9], i32>>;

TEST(ParameterGroups, HaveTheSameBitsHoweverAWindowIsSplitOrResumed) {
  const auto check = [](const auto& optimizer) {
    const SplitCheck splits = test_splits(LayerNet{}, optimizer, {{7, 1, 56}, {32, 32}}, inputs, classes);
    EXPECT_TRUE(splits.mistakes.empty()) << splits;
    Session whole(LayerNet{}, optimizer, {.global_batch = samples});
    Session first(LayerNet{}, optimizer, {.global_batch = samples});
    Session second(LayerNet{}, optimizer, {.global_batch = samples, .seed = 9});
    whole.accumulate(inputs, classes), first.accumulate(inputs, classes);
    second.restore(first.state());
    whole.accumulate(inputs, classes), second.accumulate(inputs, classes);
    EXPECT_EQ(differing_bits(whole.parameter_bytes(), second.parameter_bytes()), 0);
    Parameters parameters(Device::cpu());
    const Layer model(parameters.root());
    Session eager(parameters, optimizer, {.global_batch = samples});
    for (int i = 0; i < 2; ++i)
      eager.accumulate(samples, [&](EagerTape& tape) {
        const Var in = tape.input(inputs, {9}), label = tape.input(classes);
        return model.loss(in, label);
      });
    EXPECT_TRUE(std::ranges::equal(whole.parameters().values(), parameters.values()));
  };
  check(Accumulate{ClipByGlobalNorm{ByRank{Muon{}, adamw}, 0.5}});
  check(Accumulate{Ema{ByName{lion, adamw, {{"*/bias"}}}, 0.9}});
}

TEST(ParameterGroups, RefuseWhatNeitherCanBe) {
  const auto refused = [](const auto& rule) {
    return error_of<OptionError>([&] { trained(rule); });
  };
  EXPECT_TRUE(refused(ByRank{lion, AdamW{.beta2 = 1.0}}).find("beta2") != std::string::npos);
  EXPECT_TRUE(refused(ByRank{Lion{.beta1 = 1.0}, adamw}).find("beta1") != std::string::npos);
  EXPECT_TRUE(refused(ByName{lion, adamw, {{"hiden/*"}}}).starts_with("an optimizer: no parameter is named 'hiden/*'"));
}

}  // namespace parameter_groups_test
