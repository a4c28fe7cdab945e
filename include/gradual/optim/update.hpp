#pragma once
#include <gradual/autodiff/ops.hpp>
#include <gradual/optim/following_states.hpp>
#include <gradual/optim/rule_state.hpp>

namespace gradual {

/// `using Ranges = RangesByName;` in a rule: its numbers must lie in the ranges that their names imply, as in the library's
/// rules (`check_rates`). In other rules names imply nothing.
struct RangesByName {};

/// The result of an update rule: the new parameter and the new state.
template <class State>
struct Update {
  Var parameter;
  State state;
};
template <class State>
constexpr Update<State> update(Var parameter, State state) {
  return {parameter, state};
}

namespace detail {
/// Returns whether a rule has nothing to look for but its numbers: no adapters, and no states that have other shapes, that
/// start from values other than 0, or that follow the parameters.
template <class Rule>
constexpr bool is_lone_rule() {
  return !IsAdapter<Rule> && !requires(Shape shape) { Rule::state_shape(0, shape); } &&
         !requires(const Rule& rule) { rule.initial({}); } && following_states<Rule>() == 0;
}

template <class Rule, class... Step>
concept Updates = requires(const Rule& rule, Var v, const StateOf<Rule>& state, Step... step) {
  rule(v, v, state, step...).parameter;
  rule(v, v, state, step...).state;
};

template <class... Args>
inline constexpr int rule_count = (0 + ... + (Updates<Args> || Updates<Args, Var>));

/// Whether an adapter wraps a rule that is not its member `inner`, where it would not be found.
template <class Rule>
inline constexpr bool hides_inner = false;
template <template <class...> class Adapter, class... Args>
  requires(!IsAdapter<Adapter<Args...>>)
inline constexpr bool hides_inner<Adapter<Args...>> = rule_count<Args...> > 0;

template <class Rule>
constexpr bool has_lone_others() {
  if constexpr (requires(const Rule& rule) { rule.others; }) return is_lone_rule<decltype(Rule::others)>();
  else return false;
}
/// Whether an adapter wraps more rules than its `inner` and, as `others`, one in which only numbers are looked for.
template <class Rule>
inline constexpr bool hides_others = false;
template <template <class...> class Adapter, class... Args>
  requires(sizeof...(Args) > 1)
inline constexpr bool hides_others<Adapter<Args...>> = (rule_count<Args...> > (has_lone_others<Adapter<Args...>>() ? 2 : 1));
}  // namespace detail

/// Calls a rule, with the step count (1, 2, 3, ... as a Var without axes) if it takes one.
template <class Rule>
constexpr auto apply_rule(const Rule& rule, Var parameter, Var gradient, const StateOf<Rule>& state, Var step) {
  static_assert(!detail::hides_inner<Rule>, "an adapter's wrapped rule must be its member `inner`: it is found by this name");
  static_assert(!detail::hides_others<Rule>,
                "a second rule in an adapter must be its member `others`, without adapters, which go around both rules, and "
                "without states of other shapes, that do not begin with 0, or that follow the parameters");
  if constexpr (detail::Updates<Rule, Var>) {
    return rule(parameter, gradient, state, step);
  } else if constexpr (detail::Updates<Rule>) {
    return rule(parameter, gradient, state);
  } else {
    static_assert(!requires { &Rule::step; },
                  "an optimizer that is not a rule needs step(std::span<const ParameterView> parameters, "
                  "std::span<const GradientView> gradients), for nets in double of ParameterViewIn<double> and "
                  "GradientViewIn<double>");
    static_assert(requires { &Rule::step; },
                  "an update rule needs `constexpr auto operator()(Var parameter, Var gradient, State state) const`, which may "
                  "take a fourth argument `Var step` and returns update(parameter, state); State is its member, or NoState; "
                  "Accumulate is not one: it goes outermost, around the adapters");
    return update(parameter, state);
  }
}

/// The scalars that every update program receives before those of its rule.
enum UpdateScalar { window_weight, step_count, rule_scalars };

/// The evaluation of a window after which a rule with `static constexpr int evaluations = 2` is called: the sign of the step
/// passed to it. `back`: the second one failed, and the parameters must be as before the first.
enum class Evaluation : signed char { back = 0, first = -1, second = 1 };

/// Whether a rule moves the parameters to where the window is evaluated again before it steps.
template <class Rule>
inline constexpr bool evaluates_twice = requires { requires Rule::evaluations == 2; };

namespace detail {
template <class Rule>
constexpr bool evaluates_twice_inside() {
  if constexpr (IsAdapter<Rule>)
    return evaluates_twice<decltype(Rule::inner)> || evaluates_twice_inside<decltype(Rule::inner)>();
  else return false;
}
}  // namespace detail

/// For update rules: returns Σw of the window whose gradient the rule gets; its number of samples if all weigh 1.
constexpr Var weight_of_window(Var like) {
  if (!like.valid()) return {};
  return like.tape->record(op_info<Input>, {}, Shape{}, like.dtype(), {.integer = {window_weight, Input::scalar}});
}

/// Returns the shape of a rule's state `index` for a parameter: the parameter's own, unless the rule that has the state
/// declares `static constexpr Shape state_shape(int index, const Shape& parameter)`. An adapter counts its own states from 0.
template <class Rule>
constexpr Shape state_shape(int index, const Shape& parameter) {
  if constexpr (detail::IsAdapter<Rule>) {
    using Inner = decltype(Rule::inner);
    constexpr int of_inner = detail::inner_states<Rule>();
    static_assert(of_inner == 0 || std::is_same_v<StateOf<Rule>, StateOf<Inner>> ||
                      detail::begins_with<StateOf<Rule>, StateOf<Inner>>(),
                  "an adapter's State begins with StateOf<Inner>, that of its member `inner`");
    if (index < of_inner) return state_shape<Inner>(index, parameter);
    index -= of_inner;
  }
  if constexpr (requires { Rule::state_shape(index, parameter); }) return Rule::state_shape(index, parameter);
  else return parameter;
}

}  // namespace gradual
