// Parameters without a gradient, as those of dead units and rare rows of tables: a rule's states for them decay.
#include <cmath>

#include <gradual/check/reference_update.hpp>

#include "../rules.hpp"

namespace idle_parameters_test {

using namespace models;

using Arrays = std::vector<std::vector<float>>;

/// Returns parameters, gradient and states of four elements before the first step; gradient and states are 0.
template <class Rule>
Arrays arrays_of(const Tape& tape) {
  Arrays arrays;
  for (int a = 0; a < 2 + gradual::detail::state_size<StateOf<Rule>>(); ++a)
    arrays.emplace_back(tape.inputs[static_cast<std::size_t>(a)].shape.unit(), 0.0f);
  arrays[0] = {0.5f, -0.5f, 0.25f, -0.25f};
  return arrays;
}

int subnormal_numbers(const Arrays& arrays) {
  int count = 0;
  for (const std::vector<float>& array : arrays)
    for (const float x : array) count += std::fpclassify(x) == FP_SUBNORMAL;
  return count;
}

template <class Rule>
class IdleParametersOf : public testing::Test {};
TYPED_TEST_SUITE(IdleParametersOf, EveryRule::to<testing::Types>);

TYPED_TEST(IdleParametersOf, HaveNoStateThatStaysSubnormal) {
  TypeParam rule = with_all_numbers<TypeParam>();
  if constexpr (requires { rule.weight_decay; }) rule.weight_decay = 0.0f;
  if constexpr (std::is_same_v<TypeParam, Lion>) rule.beta2 = 0.9f;  // 0.99 takes 9000 steps
  const ParameterInfo parameter{"p", Shape{4}, {}};
  const Tape tape = trace_update(rule, std::span(&parameter, 1));
  Arrays arrays = arrays_of<TypeParam>(tape);
  int decayed = 0;
  for (int step = 1; step <= 1500; ++step) {
    arrays[1].assign(4, step <= 3 ? 0.01f * static_cast<float>(step) : 0.0f);
    const int before = subnormal_numbers(arrays);
    arrays = detail::reference_update(tape, std::move(arrays), 1, step);
    decayed += before == 0 ? subnormal_numbers(arrays) : 0;
  }
  EXPECT_EQ(subnormal_numbers(arrays), 0);
  const bool averages = !std::is_same_v<TypeParam, Adagrad> && !std::is_same_v<TypeParam, Shampoo> &&
                        !std::is_same_v<TypeParam, Adafactor> && !std::is_same_v<TypeParam, Lbfgs>;
  EXPECT_EQ(decayed > 0, averages);  // the case under test has occurred
}

/// Adds its constant state to each parameter.
struct Drift {
  Scalar learning_rate = 1.0f;
  struct State {
    Var velocity;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    return update(parameter - learning_rate * gradient + state.velocity, state);
  }
};

/// Keeps its state in 16 bits.
struct Rounds {
  Scalar learning_rate = 1.0f;
  struct State {
    Var velocity;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    return update(parameter - learning_rate * gradient, State{convert(convert(state.velocity, DType::bf16), gradient.dtype())});
  }
};

template <class Rule>
int unwritten_states(DType sums = DType::f32) {
  const ParameterInfo matrix{"w", Shape{4, 3}, {}};
  const Tape tape = trace_update(Rule{}, std::span(&matrix, 1), sums);
  int unwritten = 0;
  for (const Root& root : tape.roots) unwritten += tape[root.node].op->kind == Kind::input;
  return unwritten;
}

TEST(IdleParameters, StatesThatStayAsTheyAreAreNotWritten) {
  EXPECT_EQ(unwritten_states<Drift>(), 1);
  EXPECT_EQ(unwritten_states<Drift>(DType::f64), 1);
  EXPECT_EQ(unwritten_states<Muon>(), 1);  // the variance of a matrix, parameter by parameter
  EXPECT_EQ(unwritten_states<Adam>(), 0);
  EXPECT_EQ(unwritten_states<Rounds>(), 0);
  EXPECT_EQ(unwritten_states<Rounds>(DType::f64), 0);
}

TEST(IdleParameters, KeepSubnormalValuesInWhatFollowsThem) {
  const auto after = [](const auto& rule, int steps) {
    using Rule = std::remove_cvref_t<decltype(rule)>;
    const ParameterInfo parameter{"p", Shape{4}, {}};
    const Tape tape = trace_update(rule, std::span(&parameter, 1));
    Arrays arrays = arrays_of<Rule>(tape);
    arrays[0].assign(4, 1e-40f);
    for (int step = 1; step <= steps; ++step) arrays = detail::reference_update(tape, std::move(arrays), 1, step);
    return arrays;
  };
  const std::vector<float> same(4, 1e-40f);
  const Arrays lookahead = after(Lookahead{Sgd{}, schedule::every(2)}, 4), ema = after(Ema{Sgd{}, 0.5f}, 4);
  EXPECT_EQ(lookahead.front(), same);
  EXPECT_EQ(lookahead.back(), same);
  EXPECT_EQ(ema.back(), same);
}

}  // namespace idle_parameters_test
