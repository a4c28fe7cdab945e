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

struct AnyVar {
  constexpr operator Var() const { return {}; }
};

/// Number of `Var` members of an aggregate, at most 6.
template <class S>
constexpr int state_size() {
  if constexpr (requires { S{AnyVar{}, AnyVar{}, AnyVar{}, AnyVar{}, AnyVar{}, AnyVar{}}; }) return 6;
  else if constexpr (requires { S{AnyVar{}, AnyVar{}, AnyVar{}, AnyVar{}, AnyVar{}}; }) return 5;
  else if constexpr (requires { S{AnyVar{}, AnyVar{}, AnyVar{}, AnyVar{}}; }) return 4;
  else if constexpr (requires { S{AnyVar{}, AnyVar{}, AnyVar{}}; }) return 3;
  else if constexpr (requires { S{AnyVar{}, AnyVar{}}; }) return 2;
  else if constexpr (requires { S{AnyVar{}}; }) return 1;
  else return 0;
}

template <class S>
constexpr S make_state(const Var* v) {
  constexpr int n = state_size<S>();
  if constexpr (n == 0) return {};
  else if constexpr (n == 1) return {v[0]};
  else if constexpr (n == 2) return {v[0], v[1]};
  else if constexpr (n == 3) return {v[0], v[1], v[2]};
  else if constexpr (n == 4) return {v[0], v[1], v[2], v[3]};
  else if constexpr (n == 5) return {v[0], v[1], v[2], v[3], v[4]};
  else return {v[0], v[1], v[2], v[3], v[4], v[5]};
}

template <class S>
constexpr void list_state(const S& s, Var* out) {
  constexpr int n = state_size<S>();
  if constexpr (n == 1) {
    auto [a] = s;
    out[0] = a;
  } else if constexpr (n == 2) {
    auto [a, b] = s;
    out[0] = a, out[1] = b;
  } else if constexpr (n == 3) {
    auto [a, b, c] = s;
    out[0] = a, out[1] = b, out[2] = c;
  } else if constexpr (n == 4) {
    auto [a, b, c, d] = s;
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
  } else if constexpr (n == 5) {
    auto [a, b, c, d, e] = s;
    out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = e;
  } else if constexpr (n == 6) {
    auto [a, b, c, d, e, f] = s;
    out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = e, out[5] = f;
  }
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

/// The scalars that every update program is given before those of its rule.
enum UpdateScalar { window_weight, step_count, rule_scalars };

/// Records one update of `elements` parameters, seen as one row: inputs are the parameters, the window's summed
/// gradient and the state; roots are the new parameters and the new state. The sum is divided here, once.
template <class Rule>
constexpr Tape trace_update(const Rule& rule, std::int64_t elements) {
  constexpr int states = detail::state_size<StateOf<Rule>>();
  Tape tape;
  const Shape shape{elements};
  Var parameter = input(tape, shape, DType::f32), sum = input(tape, shape, DType::f32), old_state[6];
  for (int i = 0; i < states; ++i) old_state[i] = input(tape, shape, DType::f32);
  Var weight = value_of(0, parameter), step = value_of(0, parameter);
  const auto result =
      apply_rule(rule, parameter, quotient(sum, weight), detail::make_state<StateOf<Rule>>(old_state), step);
  Var new_state[6];
  detail::list_state(result.state, new_state);
  tape.first_adjoint = 0;
  tape.roots.push_back({Role::value, 0, result.parameter.id});
  for (int i = 0; i < states; ++i) tape.roots.push_back({Role::value, i + 1, new_state[i].id});
  return tape;
}

}  // namespace gradual
