#pragma once
// The State that an update rule keeps for each parameter: an aggregate of Vars and of other rules' states.
#include <tuple>
#include <type_traits>

#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// State of a rule that keeps none.
struct NoState {};

namespace detail {

/// Converts to any type that a member of S may have.
template <class S>
struct AnyMemberOf {
  template <class T>
    requires(!std::is_same_v<T, S>)
  constexpr operator T() const;
};

/// Returns the number of members of an aggregate, at most 6.
template <class S>
constexpr int member_count() {
  using M = AnyMemberOf<S>;
  static_assert(!requires { S{M{}, M{}, M{}, M{}, M{}, M{}, M{}}; },
                "a rule's State has at most six members, which may be states of several Vars themselves");
  if constexpr (requires { S{M{}, M{}, M{}, M{}, M{}, M{}}; }) return 6;
  else if constexpr (requires { S{M{}, M{}, M{}, M{}, M{}}; }) return 5;
  else if constexpr (requires { S{M{}, M{}, M{}, M{}}; }) return 4;
  else if constexpr (requires { S{M{}, M{}, M{}}; }) return 3;
  else if constexpr (requires { S{M{}, M{}}; }) return 2;
  else if constexpr (requires { S{M{}}; }) return 1;
  else return 0;
}

/// Returns f(the members of a state...).
template <class S, class F>
constexpr auto with_members(S& state, F f) {
  constexpr int n = member_count<std::remove_const_t<S>>();
  if constexpr (n == 0) {
    return f();
  } else if constexpr (n == 1) {
    auto& [a] = state;
    return f(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = state;
    return f(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = state;
    return f(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = state;
    return f(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = state;
    return f(a, b, c, d, e);
  } else {
    auto& [a, b, c, d, e, g] = state;
    return f(a, b, c, d, e, g);
  }
}

/// Calls f for each Var of a state, including those of nested states, in the order of their declaration.
template <class S, class F>
constexpr void for_each_var(S& state, F& f) {
  if constexpr (std::is_same_v<std::remove_const_t<S>, Var>) {
    f(state);
  } else {
    static_assert(std::is_class_v<S>,
                  "a rule's State holds Vars, and states of Vars; the step count is the fourth argument of a rule");
    with_members(state, [&f](auto&... member) { (for_each_var(member, f), ...); });
  }
}

/// Returns whether the first member of a state is another state.
template <class S, class First>
constexpr bool begins_with() {
  S state{};
  return with_members(
      state, []<class... M>(M&...) { return std::is_same_v<First, std::tuple_element_t<0, std::tuple<M..., void>>>; });
}

/// Returns the number of Vars in a state.
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

/// Whether a rule is an adapter: around another one, its member `inner`.
template <class Rule>
concept IsAdapter = requires(const Rule& rule) { rule.inner; };

template <class Rule>
struct DeclaredState {
  using type = NoState;
};
template <class Rule>
  requires requires { typename Rule::State; }
struct DeclaredState<Rule> {
  using type = typename Rule::State;
};

}  // namespace detail

template <class Rule>
using StateOf = typename detail::DeclaredState<Rule>::type;

}  // namespace gradual
