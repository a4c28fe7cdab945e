#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include <gradual/check/reference_update.hpp>
#include <gradual/nn/init.hpp>
#include <gradual/optim/trace_update.hpp>
#include <gradual/train/eager_session.hpp>

namespace gradual {

/// The result of `test_rule`.
struct RuleCheck {
  int steps = 0;                      ///< number of steps compared
  bool by_element = false;            ///< no element's step depends on another's
  std::vector<std::string> mistakes;  ///< one line each

  friend std::ostream& operator<<(std::ostream& out, const RuleCheck& check);
};

namespace detail {

/// A matrix, a vector and a number, whose gradients are the sample.
struct RuleModel {
  Parameter matrix, vector, number;
  constexpr explicit RuleModel(Scope s)
      : matrix(s.parameter("matrix", Shape{5, 7}, init::uniform(1))), vector(s.parameter("vector", Shape{3}, init::uniform(1))),
        number(s.parameter("number", Shape{}, init::constant(0.5))) {}
  constexpr Loss loss(Var a, Var b, Var c) const {
    return Loss(sum(a * matrix, {1, 2}) + sum(b * vector, {1}) + c * number);
  }
};
using RuleNet = Compiled<RuleModel, Inputs<f32[5][7], f32[3], f32>>;
inline constexpr std::uint64_t rule_check_seed = 1;  ///< of its parameters, and of a rule's random numbers

/// The gradient passed to a step. `start`: the initial parameters, which a small step along it shrinks.
enum class StepGradient : unsigned char { start, drawn, zero };

/// Parameters, the window's gradient, then the states.
using UpdateArrays = std::vector<std::vector<float>>;

std::vector<float> gradient_of(StepGradient kind, const std::vector<float>& start, int step);

/// Checks a step from `before` to `after` by a compiled session, and to `eager` by an eager one. Returns whether all of it is
/// right; notes a mistake otherwise.
bool check_step(RuleCheck& check, const Tape& update, const std::string& when, const UpdateArrays& before,
                const UpdateArrays& after, const UpdateArrays& eager, int step);
/// Returns whether parameters moved; notes a mistake if they moved up their gradient.
bool check_direction(RuleCheck& check, const UpdateArrays& before, const UpdateArrays& after);

/// Makes steps from the initial parameters, or from zeros, until one is wrong.
template <class Rule>
void check_steps(RuleCheck& check, const Rule& rule, const Tape& update, bool from_zeros,
                 std::initializer_list<StepGradient> gradients) {
  constexpr const SessionTables& tables = session_tables<RuleNet, Rule>;
  const SessionOptions options{.global_batch = 1, .seed = rule_check_seed};
  Parameters parameters(Device::cpu());
  const RuleModel model(parameters.root());
  Session compiled(RuleNet{}, Accumulate{rule}, options);
  Session eager(parameters, Accumulate{rule}, options);
  const std::vector<float> zeros(static_cast<std::size_t>(RuleNet::parameter_elements));
  if (from_zeros) compiled.set_parameters(zeros), eager.set_parameters(zeros);

  const auto now = [&] {
    const auto values = compiled.parameters().values();
    const auto sums = compiled.accumulator();
    UpdateArrays arrays{{values.begin(), values.end()}, {sums.begin(), sums.end()}};
    for (int a = 2; a < tables.arrays(); ++a) {
      const std::byte* const state = compiled.optimizer_state_bytes().data() + tables.array_offset(a) - tables.array_offset(2);
      arrays.emplace_back(reinterpret_cast<const float*>(state), reinterpret_cast<const float*>(state) + tables.elements(a));
    }
    return arrays;
  };
  const auto now_eager = [&] {
    UpdateArrays arrays{{parameters.values().begin(), parameters.values().end()}, {}};
    for (int a = 2; a < tables.arrays(); ++a) {
      const auto state = eager.optimizer_state(a - 2);
      arrays.emplace_back(state.begin(), state.end());
    }
    return arrays;
  };
  const std::vector<float> start = now()[0];
  bool moved = false;
  for (int step = 0; const StepGradient kind : gradients) {
    const std::vector<float> gradient = gradient_of(kind, start, ++step);
    const std::span<const float> all = gradient, a = all.first(35), b = all.subspan(35, 3), c = all.last(1);
    const UpdateArrays before = now();
    compiled.accumulate(a, b, c);
    eager.accumulate(1, [&](EagerTape& tape) { return model.loss(tape.input(a, {5, 7}), tape.input(b, {3}), tape.input(c)); });
    const UpdateArrays after = now();
    const std::string when = "step " + std::to_string(step) + (kind == StepGradient::zero ? ", by a gradient of 0" : "") +
                             (from_zeros ? ", from parameters of 0" : "");
    if (!check_step(check, update, when, before, after, now_eager(), step)) return;
    if (kind == StepGradient::start && !moved) moved = check_direction(check, before, after);
  }
}

}  // namespace detail

/// Checks a user-defined update rule, or an adapter around one, with its numbers, in float: that it makes the same steps
/// compiled, eagerly and by the reference interpreter, bit for bit; that parameters and states stay finite, also if gradients
/// or parameters are 0, as biases often are initially; that its first step goes down the gradient; and that it records the same
/// with its numbers as with its defaults:
/// `const auto check = test_rule(MyRule{}); EXPECT_TRUE(check.mistakes.empty()) << check;`.
template <class Rule>
RuleCheck test_rule(const Rule& rule) {
  static_assert(!evaluates_twice<Rule>, "test_rule: what evaluates each window twice has no single step: test the rule inside");
  using enum detail::StepGradient;
  RuleCheck result;
  const Tape update =
      detail::recorded_update(detail::TypedRule<Rule>(rule), detail::RuleNet::declared(), DType::f32, DType::f32);
  result.by_element = detail::is_elementwise(update);
  try {
    detail::check_steps(result, rule, update, false, {start, start, drawn, drawn, drawn, zero, drawn});
    detail::check_steps(result, rule, update, false, {zero, drawn, zero});
    detail::check_steps(result, rule, update, true, {zero, drawn, zero});
  } catch (const OptionError& error) {
    result.mistakes.push_back(error.what());
  }
  return result;
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/check/test_rule.ipp>
#endif
