#pragma once
#include <span>

#include <gradual/autodiff/ops/broadcast.hpp>
#include <gradual/autodiff/ops/convert.hpp>
#include <gradual/autodiff/ops/flush_subnormal.hpp>
#include <gradual/autodiff/ops/maximum.hpp>
#include <gradual/autodiff/simplify.hpp>
#include <gradual/optim/by_parameter.hpp>
#include <gradual/optim/lone_rule.hpp>

namespace gradual {

/// `using Ranges = RangesByName;` in a rule: its numbers must lie where their names say, as those of the library's rules do
/// (`check_rates`). What other rules call theirs says nothing of them.
struct RangesByName {};

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

namespace detail {
template <class Rule, class... Step>
concept Updates = requires(const Rule& rule, Var v, const gradual::StateOf<Rule>& state, Step... step) {
  rule(v, v, state, step...).parameter;
  rule(v, v, state, step...).state;
};

template <class... Args>
inline constexpr int rule_count = (0 + ... + (Updates<Args> || Updates<Args, Var>));

/// Whether an adapter is around a rule that is not its member `inner`, so that nobody would find it there.
template <class Rule>
inline constexpr bool hides_inner = false;
template <template <class...> class Adapter, class... Args>
  requires(!requires(const Adapter<Args...>& rule) { rule.inner; })
inline constexpr bool hides_inner<Adapter<Args...>> = rule_count<Args...> > 0;

template <class Rule>
constexpr bool has_lone_others() {
  if constexpr (requires(const Rule& rule) { rule.others; }) return is_lone_rule<decltype(Rule::others)>();
  else return false;
}
/// Whether an adapter is around more rules than its `inner` and one in whose numbers alone something is looked for: `others`.
template <class Rule>
inline constexpr bool hides_others = false;
template <template <class...> class Adapter, class... Args>
  requires(sizeof...(Args) > 1)
inline constexpr bool hides_others<Adapter<Args...>> = (rule_count<Args...> > (has_lone_others<Adapter<Args...>>() ? 2 : 1));
}  // namespace detail

/// Calls a rule, which may or may not take the step count (1, 2, 3, ... as a Var without axes).
template <class Rule>
constexpr auto apply_rule(const Rule& rule, Var parameter, Var gradient, const StateOf<Rule>& state, Var step) {
  static_assert(!detail::hides_inner<Rule>, "an adapter's wrapped rule must be its member `inner`: by this name it is found");
  static_assert(!detail::hides_others<Rule>,
                "a second rule in an adapter must be its member `others`, without adapters, which go around both rules, and "
                "without states of other shapes, that begin otherwise than with 0, or that follow the parameters");
  if constexpr (detail::Updates<Rule, Var>) {
    return rule(parameter, gradient, state, step);
  } else if constexpr (detail::Updates<Rule>) {
    return rule(parameter, gradient, state);
  } else {
    static_assert(!requires { &Rule::step; },
                  "an optimizer that is no rule has step(std::span<const ParameterView> parameters, "
                  "std::span<const GradientView> gradients), for nets in double of ParameterViewIn<double> and "
                  "GradientViewIn<double>");
    static_assert(requires { &Rule::step; },
                  "an update rule has `constexpr auto operator()(Var parameter, Var gradient, State state) const`, which may "
                  "take a fourth argument `Var step` and returns update(parameter, state); State is its member, or NoState; "
                  "Accumulate is none: it goes outermost, around the adapters");
    return update(parameter, state);
  }
}

inline constexpr int max_states = 64;  ///< of a rule and all adapters around it

/// The scalars that every update program is given before those of its rule.
enum UpdateScalar { window_weight, step_count, rule_scalars };

/// Which evaluation of a window a rule is called after that has `static constexpr int evaluations = 2`: the sign of the step
/// that it is told. `back`: the second one failed, and the parameters are to be as before the first.
enum class Evaluation : signed char { back = 0, first = -1, second = 1 };

/// Whether a rule moves the parameters to where the window is evaluated again before it steps.
template <class Rule>
inline constexpr bool evaluates_twice = requires { requires Rule::evaluations == 2; };

namespace detail {
template <class Rule>
constexpr bool evaluates_twice_inside() {
  if constexpr (requires(const Rule& rule) { rule.inner; })
    return evaluates_twice<decltype(Rule::inner)> || evaluates_twice_inside<decltype(Rule::inner)>();
  else return false;
}
}  // namespace detail

/// In an update rule: Σw of the window whose gradient it is given; the number of its samples where all weigh 1.
constexpr Var weight_of_window(Var like) {
  if (!like.valid()) return {};
  Attributes attributes;
  attributes.integer[0] = window_weight;
  attributes.integer[1] = Input::scalar;
  return like.tape->record(op_info<Input>, {}, Shape{}, like.dtype(), attributes);
}

/// Shape of the part that a rule's state `index` has for a parameter: the parameter's own, unless the rule that has the state
/// says otherwise by `static constexpr Shape state_shape(int index, const Shape& parameter)`. An adapter counts its own states
/// from 0.
template <class Rule>
constexpr Shape state_shape(int index, const Shape& parameter) {
  if constexpr (requires(const Rule& rule) { rule.inner; }) {
    using Inner = decltype(Rule::inner);
    constexpr int of_inner = detail::state_size<StateOf<Inner>>();
    static_assert(of_inner == 0 || std::is_same_v<StateOf<Rule>, StateOf<Inner>> ||
                      detail::begins_with<StateOf<Rule>, StateOf<Inner>>(),
                  "an adapter's State begins with StateOf<Inner>, that of its member `inner`");
    if (index < of_inner) return state_shape<Inner>(index, parameter);
    index -= of_inner;
  }
  if constexpr (requires { Rule::state_shape(index, parameter); }) return Rule::state_shape(index, parameter);
  else return parameter;
}

namespace detail {

/// A new parameter or state as one of the shape that is kept. `array`: as in `UpdatePlace`. One number is broadcast
/// to a state, not to the parameters: there it is a sum that a rule forgot to spread.
constexpr Var as_kept(Tape& tape, Var value, const Shape& kept, int array) {
  if (value.valid() && value.shape() == kept) return value;
  const bool may_be_one = array != 0 || kept.unit() == 1;
  if (may_be_one && value.valid() && value.shape().unit() == 1 && !value.shape().batched()) return broadcast(value, kept);
  Message text;
  text << "an update rule leaves ";
  if (array == 0) text << "the parameter";
  else text << "value " << array - 2 << " of its State";
  if (value.valid()) text << " with the shape " << value.shape() << ", where " << kept << " is kept";
  else text << " without a value";
  return tape.fail(text);
}

/// The input at a place where a new value is what a rule saw of it, else the value. By way of 16 bits it is another value.
constexpr Var unless_unchanged(Var value, std::int64_t place) {
  Var seen = value;
  while ((is<Convert>(seen.node()) || is<FlushSubnormal>(seen.node())) && !is_small(seen.dtype()))
    seen = {seen.tape, seen.node().in[0]};
  return seen.node().op->kind == Kind::input && seen.attributes().integer[0] == place ? seen : value;
}

/// The new value of a place as a root. What lies in another place, or is another's new value too, is copied: each element is
/// the larger of itself and itself.
constexpr void add_new_value(Tape& tape, std::int64_t place, Var value) {
  if (!value.valid()) return;
  value = unless_unchanged(value, place);
  bool lies_elsewhere = value.node().op->kind == Kind::input && value.attributes().integer[0] != place;
  for (const Root& root : tape.roots) lies_elsewhere = lies_elsewhere || root.node == value.id;
  tape.roots.push_back({Role::value, static_cast<int>(place), (lies_elsewhere ? maximum(value, value) : value).id});
}

/// One root for each array that changes or, where a rule looked at parameters one by one, for each parameter's part of
/// it. `changed`: the new parameters and states, by array.
template <class = void>  // so that gradual::kernels can have the code
[[gnu::cold]] constexpr Tape with_roots(Tape& tape, const Var* changed, int arrays) {
  bool by_parts = false;
  for (const Node& node : tape.nodes) by_parts = by_parts || is<ReplacePart>(node);
  for (int p = 0; p < (by_parts ? static_cast<int>(tape.parameters.size()) : 1); ++p) {
    Parts parts(tape, p);
    for (int a = 0; a < arrays; ++a) {
      const int part = update_index({a, p}, arrays);
      if (a == 1 || (by_parts && tape.inputs[static_cast<std::size_t>(part)].shape.unit() == 0)) continue;
      add_new_value(tape, by_parts ? part : a, by_parts ? parts.of(changed[a]) : changed[a]);
    }
  }
  if (!by_parts || !tape.error.empty()) return std::move(tape);
  Tape result = simplify(tape);  // what stands for all parameters is needed no more, unless it was reduced
  for (const Node& node : result.nodes)
    if (is<ReplacePart>(node)) {
      result.fail("by_parameter: an adapter reduces over all parameters what was computed for each of them");
      break;
    }
  return result;
}

}  // namespace detail

/// Records one update of all `parameters`, seen as one row: inputs are the parameters, the window's summed gradient and
/// the state; roots are the new parameters and the new state (`update_place` tells which). The sum is divided here, once, and
/// the rule sees +0 where a state is −0 or subnormal, but for those of adapters that follow the parameters.
/// `sums`: the type of the summed gradient, in which the rule computes all; `real`: that of parameters and states.
template <class Rule>
[[gnu::cold]] constexpr Tape trace_update(const Rule& rule, std::span<const ParameterInfo> parameters,
                                          DType sums = DType::f32, DType real = DType::f32) {
  constexpr int states = detail::state_size<StateOf<Rule>>(), arrays = 2 + states;
  static_assert(!detail::evaluates_twice_inside<Rule>(), "what evaluates each window twice stands around all other adapters");
  static_assert(states <= max_states, "the rule and its adapters keep more than 64 numbers for each parameter element");
  const auto shape_in = [](int array, const ParameterInfo& parameter) {
    return array < 2 ? parameter.shape : state_shape<Rule>(array - 2, parameter.shape);
  };
  const auto follows = [](int array) { return array >= 2 && (following_states<Rule>() >> (array - 2) & 1) != 0; };
  Tape tape;
  tape.real = sums;
  Var in[arrays], seen[arrays], changed[arrays];
  const auto stored = [=](int array) { return array == 1 ? sums : real; };
  for (int a = 0; a < arrays; ++a) {
    Shape row{0};
    for (const ParameterInfo& parameter : parameters) row.extent[0] += shape_in(a, parameter).unit();
    in[a] = input(tape, row, stored(a));
  }
  for (const ParameterInfo& parameter : parameters)
    for (int a = 0; a < arrays; ++a) {
      const Shape shape = shape_in(a, parameter);
      if (follows(a) && !(shape == parameter.shape))
        tape.fail(Message() << "value " << a - 2 << " of an update rule's State, which follows the parameters, has the shape "
                            << shape << " for one of " << parameter.shape);
      tape.inputs.push_back({shape, stored(a), 0});
    }
  tape.parameters.assign(parameters.begin(), parameters.end());
  for (int a = 0; a < arrays; ++a)  // a mean that only decays would stay subnormal: 0.9 of the smallest number is that number
    seen[a] = convert(a >= 2 && !follows(a) ? flush_subnormal(in[a]) : in[a], sums);
  Var weight = value_of(0, seen[0]), step = value_of(0, seen[0]);
  const auto result = apply_rule(rule, seen[0], quotient(seen[1], weight), detail::make_state<StateOf<Rule>>(seen + 2), step);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(result.state)>, StateOf<Rule>>,
                "an update rule returns update(parameter, State{...}) with the State that it declares");
  changed[0] = result.parameter;
  detail::list_state(result.state, changed + 2);
  for (int a = 0; a < arrays; ++a)
    if (a != 1) changed[a] = convert(detail::as_kept(tape, changed[a], in[a].shape(), a), stored(a));  // gradients stay
  tape.first_adjoint = 0;
  return detail::with_roots(tape, changed, arrays);
}
/// The same for one parameter, a vector of `elements`, all of it in one type.
template <class Rule>
constexpr Tape trace_update(const Rule& rule, std::int64_t elements, DType real = DType::f32) {
  ParameterInfo all;
  all.shape = Shape{elements};
  return trace_update(rule, std::span(&all, 1), real, real);
}

}  // namespace gradual
