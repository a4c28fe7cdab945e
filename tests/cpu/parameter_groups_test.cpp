// Two rules, each for some of the parameters, by rank or by name: the bits of each rule alone, where both see the same
// gradients.
#include <gtest/gtest.h>

#include <gradual/check/test_splits.hpp>

#include "../error_of.hpp"
#include "../models.hpp"

namespace parameter_groups_test {

using namespace models;

constexpr std::int64_t samples = 64;
const auto inputs = numbers(samples * 9);
const auto classes = labels(samples, 5);

/// A loss whose gradient does not depend on the parameters: what one rule does is nothing to the other.
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

template <class Rule>
auto trained(const Rule& rule) {
  Session session(SlopesNet{}, Accumulate{rule}, {.global_batch = samples / 2, .seed = 7});
  for (int i = 0; i < 3; ++i) session.accumulate(inputs);
  EXPECT_EQ(session.step_count(), 6);
  return session;
}
template <class Session>
bool same(const Session& both, const auto& alone, std::string_view name) {
  return std::ranges::equal(both.parameters()[name].values, alone.parameters()[name].values);
}

constexpr AdamW adamw{.learning_rate = schedule::cosine(0.1, 6), .weight_decay = 0.1};
constexpr Lion lion{.learning_rate = 0.03, .weight_decay = 0.2};
constexpr Sgd momentum{.learning_rate = 0.2, .momentum = 0.9};

template <class Both, class Inner, class Others>
void expect_each(const Both& rule, const Inner& inner, const Others& others, std::initializer_list<std::string_view> of_inner) {
  const auto both = trained(rule);
  const auto first = trained(inner);
  const auto second = trained(others);
  for (int p = 0; p < SlopesNet::parameter_count; ++p) {
    const std::string_view name = SlopesNet::parameter(p).name.view();
    const bool is_inner = std::ranges::find(of_inner, name) != of_inner.end();
    EXPECT_EQ(same(both, first, name), is_inner) << name;
    EXPECT_EQ(same(both, second, name), !is_inner) << name;
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
  EXPECT_EQ(bytes(ByName{lion, adamw, {{"*"}}}), bytes(ScaleUpdate{adamw, 0.5}));  // which has marks too
}

/// An op of a rule's own.
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
}

/// A sum over all that a rule is given is one over its own parameters.
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
  const auto both = trained(ByName{Normed{}, lion, {{"scale"}}});
  Session alone(SlopesNet{}, Accumulate{Normed{}},
                {.global_batch = samples / 2, .seed = 7, .freeze = {"hidden/*", "kernels"}});
  Session named(SlopesNet{}, Accumulate{ByName{Normed{}, lion, {{"scale"}}}},
                {.global_batch = samples / 2, .seed = 7, .freeze = {"hidden/*", "kernels"}});
  for (int i = 0; i < 3; ++i) alone.accumulate(inputs), named.accumulate(inputs);
  EXPECT_TRUE(same(both, named, "scale"));
  EXPECT_TRUE(same(both, alone, "scale"));
}

TEST(ParameterGroups, HaveTheSameBitsHoweverAWindowIsSplitOrResumed) {
  const auto check = [](const auto& optimizer) {
    const SplitCheck splits = test_splits(ClassifierNet{}, optimizer, {{7, 1, 56}, {32, 32}}, inputs, classes);
    EXPECT_TRUE(splits.mistakes.empty()) << splits;
    Session whole(ClassifierNet{}, optimizer, {.global_batch = samples});
    Session first(ClassifierNet{}, optimizer, {.global_batch = samples});
    Session second(ClassifierNet{}, optimizer, {.global_batch = samples, .seed = 9});
    whole.accumulate(inputs, classes), first.accumulate(inputs, classes);
    second.restore(first.state());
    whole.accumulate(inputs, classes), second.accumulate(inputs, classes);
    EXPECT_EQ(differing_bits(whole.parameter_bytes(), second.parameter_bytes()), 0);
    Parameters parameters(Device::cpu());
    const Classifier model(parameters.root());
    Session eager(parameters, optimizer, {.global_batch = samples});
    for (int i = 0; i < 2; ++i)
      eager.accumulate(samples, [&](EagerTape& tape) {
        const Var in = tape.input(inputs, {9}), label = tape.input(classes);
        return model.loss(in, label);
      });
    EXPECT_TRUE(std::ranges::equal(whole.parameters().values(), parameters.values()));
  };
  check(Accumulate{ClipByGlobalNorm{ByRank{Muon{}, adamw}, 0.5}});
  check(Accumulate{Ema{ByName{lion, adamw, {{"output/*"}}}, 0.9}});
}

TEST(ParameterGroups, RefuseWhatNeitherCanBe) {
  const auto refused = [](const auto& rule) {
    return error_of<OptionError>([&] { Session(SlopesNet{}, Accumulate{rule}, {.global_batch = 1}); });
  };
  EXPECT_TRUE(refused(ByRank{lion, AdamW{.beta2 = 1.0}}).find("beta2") != std::string::npos);
  EXPECT_TRUE(refused(ByRank{Lion{.beta1 = 1.0}, adamw}).find("beta1") != std::string::npos);
  EXPECT_TRUE(refused(ByName{lion, adamw, {{"hiden/*"}}}).starts_with("an optimizer: no parameter is named 'hiden/*'"));
}

}  // namespace parameter_groups_test
