#pragma once
#include <cstdint>
#include <type_traits>

#include <gradual/optim/following_states.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

inline constexpr int max_states = 64;  ///< of a rule and all adapters around it

namespace detail {

/// An update rule without its type, for code that is the same for all of them.
class AnyRule {
 public:
  const int states;               ///< Vars in its State
  const std::uint64_t following;  ///< `following_states`

  /// As `gradual::state_shape`.
  virtual constexpr Shape state_shape(int state, const Shape& parameter) const = 0;
  /// Returns the new parameter, and puts the new states in the place of the old.
  virtual constexpr Var apply(Var parameter, Var gradient, Var* state, Var step) const = 0;

 protected:
  constexpr AnyRule(int number_of_states, std::uint64_t mask) : states(number_of_states), following(mask) {}
  constexpr ~AnyRule() = default;
};

template <class Rule>
class TypedRule final : public AnyRule {
  static_assert(!evaluates_twice_inside<Rule>(), "an adapter that evaluates each window twice goes around all others");
  static_assert(state_size<StateOf<Rule>>() <= max_states,
                "the rule and its adapters keep more than 64 numbers for each parameter element");

 public:
  constexpr explicit TypedRule(const Rule& rule)
      : AnyRule(state_size<StateOf<Rule>>(), following_states<Rule>()), rule_(rule) {}

  constexpr Shape state_shape(int state, const Shape& parameter) const override {
    return gradual::state_shape<Rule>(state, parameter);
  }
  constexpr Var apply(Var parameter, Var gradient, Var* state, Var step) const override {
    const auto result = apply_rule(rule_, parameter, gradient, make_state<StateOf<Rule>>(state), step);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(result.state)>, StateOf<Rule>>,
                  "an update rule returns update(parameter, State{...}) with the State that it declares");
    list_state(result.state, state);
    return result.parameter;
  }

 private:
  const Rule& rule_;
};

}  // namespace detail
}  // namespace gradual
