// `test_rule`: rules that are right, and one for each mistake that it reports.
#include <gtest/gtest.h>

#include <gradual/check/test_rule.hpp>
#include <sstream>

#include "../long_rule.hpp"
#include "../models.hpp"

namespace rule_check_test {

using namespace models;
using Mistakes = std::vector<std::string>;

template <class Rule>
void expect_right(const Rule& rule, bool by_element) {
  const RuleCheck check = test_rule(rule);
  EXPECT_TRUE(check.mistakes.empty()) << check;
  EXPECT_EQ(check.steps, 13);
  EXPECT_EQ(check.by_element, by_element);
}

TEST(RuleCheck, RulesAndAdaptersOfTheLibraryAreRight) {
  expect_right(Adam{}, true);
  expect_right(LongRule{}, true);
  expect_right(Adafactor{}, false);
  expect_right(LossScale{WeightDecay{ClipByGlobalNorm{Muon{}}, 0.01, {{"m*"}}}}, false);
}

/// Keeps one number for each parameter, as it would for each element of a net of one number.
struct CountingSteps {
  struct State {
    Var steps;
  };
  static constexpr Shape state_shape(int, const Shape&) { return Shape{1}; }
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    return update(parameter - 0.1 * gradient, State{state.steps + 1.0});
  }
};

TEST(RuleCheck, WhatIsKeptOfWholeParametersIsNotByElement) {
  static_assert(!UpdatesByElement<CountingSteps> && !UpdatesByElement<ByRank<Sgd, Adam>> && !UpdatesByElement<Adafactor>);
  expect_right(CountingSteps{}, false);
}

/// Divides by the magnitude of each element of the gradient.
struct Signs {
  Scalar learning_rate = 0.1f;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(parameter - learning_rate * gradient / sqrt(gradient * gradient), state);
  }
};

TEST(RuleCheck, NamesWhatAGradientOfZeroMakesOfAParameter) {
  const RuleCheck check = test_rule(Signs{});
  EXPECT_EQ(check.mistakes, (Mistakes{"step 6, by a gradient of 0: element 0 of parameter 'matrix' is not a number",
                                      "step 1, by a gradient of 0: element 0 of parameter 'matrix' is not a number",
                                      "step 1, by a gradient of 0, from parameters of 0: element 0 of parameter 'matrix' is not "
                                      "a number"}));
  std::ostringstream text;
  text << check;
  EXPECT_EQ(text.str().find("8 steps compared, element by element, 3 mistakes\nstep 6, "), 0u) << text.str();
}

/// Divides by the parameter's norm, which is 0 for biases at the start.
struct Relative {
  struct State {
    Var length;
  };
  constexpr auto operator()(Var parameter, Var gradient, State) const {
    const Var length = norm_by_parameter(parameter);
    return update(parameter - 0.01 * gradient, State{gradient / length});
  }
};

TEST(RuleCheck, NamesWhatParametersOfZeroMakeOfAState) {
  EXPECT_EQ(test_rule(Relative{}).mistakes,
            Mistakes{"step 1, by a gradient of 0, from parameters of 0: element 0 of state 0 of 'matrix' is not a number"});
}

struct Ascent {
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(parameter + 0.1 * gradient, state);
  }
};

TEST(RuleCheck, TellsARuleThatClimbs) {
  EXPECT_EQ(test_rule(Ascent{}).mistakes, Mistakes{"the first step goes up the gradient"});
}

/// Records different programs for different values of a number that is no Scalar.
struct Decays {
  double kept = 0.5;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(kept * parameter - gradient, state);
  }
};

TEST(RuleCheck, TellsARuleThatRecordsByItsNumbers) {
  EXPECT_TRUE(test_rule(Decays{}).mistakes.empty());
  const RuleCheck other = test_rule(Decays{0.25});
  ASSERT_EQ(other.mistakes.size(), 1u);
  EXPECT_EQ(other.mistakes[0].find("an update rule records other ops with these numbers"), 0u);
}

/// Gives a different result for the same number each time it is called.
struct Drifting {
  static constexpr const char* name = "drifting";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  static inline float calls = 0;
  template <class T>
  static constexpr T apply(T x) {
    return std::is_constant_evaluated() ? x : x + static_cast<T>(calls += 1);
  }
};
struct DriftingSteps {
  using Ops = OpList<Drifting>;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(parameter - 0.1 * elementwise<Drifting>(gradient), state);
  }
};

TEST(RuleCheck, NamesWhatIsNoFunctionOfItsNumbers) {
  const RuleCheck check = test_rule(DriftingSteps{});
  ASSERT_EQ(check.mistakes.size(), 3u);
  EXPECT_EQ(check.steps, 3);
  EXPECT_EQ(check.mistakes[0].find("step 1: element 0 of parameter 'matrix' is "), 0u) << check;
  EXPECT_NE(check.mistakes[0].find(" compiled, by the reference "), std::string::npos) << check;
}

}  // namespace rule_check_test
