#pragma once
#include <gradual/autodiff/ops.hpp>

namespace gradual {

/// What an update rule returns: the new parameter and the new state.
template <class State>
struct Update {
  Var parameter;
  State state;
};
template <class State>
constexpr Update<State> update(Var parameter, State state) {
  return {parameter, state};
}

/// State of a rule that keeps none.
struct NoState {};

namespace detail {

/// Converts to whatever a member of S may be.
template <class S>
struct AnyMemberOf {
  template <class T>
    requires(!std::is_same_v<T, S>)
  constexpr operator T() const;
};

/// Members of an aggregate, at most 6.
template <class S>
constexpr int member_count() {
  using M = AnyMemberOf<S>;
  if constexpr (requires { S{M{}, M{}, M{}, M{}, M{}, M{}}; }) return 6;
  else if constexpr (requires { S{M{}, M{}, M{}, M{}, M{}}; }) return 5;
  else if constexpr (requires { S{M{}, M{}, M{}, M{}}; }) return 4;
  else if constexpr (requires { S{M{}, M{}, M{}}; }) return 3;
  else if constexpr (requires { S{M{}, M{}}; }) return 2;
  else if constexpr (requires { S{M{}}; }) return 1;
  else return 0;
}

/// f(each Var) of a state, also of the states inside it, in the order of their declaration.
template <class S, class F>
constexpr void for_each_var(S& state, F& f) {
  if constexpr (std::is_same_v<std::remove_const_t<S>, Var>) {
    f(state);
  } else {
    const auto each = [&f](auto&... member) { (for_each_var(member, f), ...); };
    constexpr int n = member_count<std::remove_const_t<S>>();
    if constexpr (n == 1) {
      auto& [a] = state;
      each(a);
    } else if constexpr (n == 2) {
      auto& [a, b] = state;
      each(a, b);
    } else if constexpr (n == 3) {
      auto& [a, b, c] = state;
      each(a, b, c);
    } else if constexpr (n == 4) {
      auto& [a, b, c, d] = state;
      each(a, b, c, d);
    } else if constexpr (n == 5) {
      auto& [a, b, c, d, e] = state;
      each(a, b, c, d, e);
    } else if constexpr (n == 6) {
      auto& [a, b, c, d, e, g] = state;
      each(a, b, c, d, e, g);
    }
  }
}

/// Number of Vars in a state.
template <class S>
constexpr int state_size() {
  S state{};
  int count = 0;
  auto add = [&count](Var&) { ++count; };
  for_each_var(state, add);
  return count;
}

template <class S>
constexpr S make_state(const Var* v) {
  S state{};
  auto take = [&v](Var& member) { member = *v++; };
  for_each_var(state, take);
  return state;
}

template <class S>
constexpr void list_state(const S& state, Var* out) {
  auto give = [&out](const Var& member) { *out++ = member; };
  for_each_var(state, give);
}

template <class Rule>
struct StateOf {
  using type = NoState;
};
template <class Rule>
  requires requires { typename Rule::State; }
struct StateOf<Rule> {
  using type = typename Rule::State;
};

}  // namespace detail

template <class Rule>
using StateOf = typename detail::StateOf<Rule>::type;

/// Calls a rule, which may or may not take the step count (1, 2, 3, ... as a Var without axes).
template <class Rule>
constexpr auto apply_rule(const Rule& rule, Var parameter, Var gradient, const StateOf<Rule>& state, Var step) {
  if constexpr (requires { rule(parameter, gradient, state, step); }) return rule(parameter, gradient, state, step);
  else return rule(parameter, gradient, state);
}

inline constexpr int max_states = 8;  ///< of a rule and all adapters around it

/// The scalars that every update program is given before those of its rule.
enum UpdateScalar { window_weight, step_count, rule_scalars };

/// Records one update of `elements` parameters, seen as one row: inputs are the parameters, the window's summed
/// gradient and the state; roots are the new parameters and the new state. The sum is divided here, once.
template <class Rule>
constexpr Tape trace_update(const Rule& rule, std::int64_t elements) {
  constexpr int states = detail::state_size<StateOf<Rule>>();
  static_assert(states <= max_states, "the rule and its adapters keep more than 8 numbers for each parameter element");
  Tape tape;
  const Shape shape{elements};
  Var parameter = input(tape, shape, DType::f32), sum = input(tape, shape, DType::f32), old_state[max_states];
  for (int i = 0; i < states; ++i) old_state[i] = input(tape, shape, DType::f32);
  Var weight = value_of(0, parameter), step = value_of(0, parameter);
  const auto result =
      apply_rule(rule, parameter, quotient(sum, weight), detail::make_state<StateOf<Rule>>(old_state), step);
  Var new_state[max_states];
  detail::list_state(result.state, new_state);
  tape.first_adjoint = 0;
  tape.roots.push_back({Role::value, 0, result.parameter.id});
  for (int i = 0; i < states; ++i) tape.roots.push_back({Role::value, i + 1, new_state[i].id});
  return tape;
}

}  // namespace gradual
