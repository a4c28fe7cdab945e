#pragma once
#include <span>
#include <utility>

#include <gradual/autodiff/simplify.hpp>
#include <gradual/optim/any_rule.hpp>
#include <gradual/optim/by_parameter.hpp>

namespace gradual {

namespace detail {

/// Returns a new parameter or state in the shape that is kept. `array`: as in `UpdatePlace`. One number is broadcast to a
/// state, but not to the parameters: there it is a sum that a rule forgot to spread.
constexpr Var as_kept(Tape& tape, Var value, const Shape& kept, int array) {
  if (value.valid() && value.shape() == kept) return value;
  const bool may_be_one = array != 0 || kept.unit() == 1;
  if (may_be_one && value.valid() && value.shape().unit() == 1 && !value.shape().batched()) return broadcast(value, kept);
  Message text;
  text << "an update rule leaves ";
  if (array == 0) text << "the parameter";
  else text << "value " << array - 2 << " of its State";
  if (value.valid()) text << " with the shape " << value.shape() << " instead of " << kept;
  else text << " without a value";
  return tape.fail(text);
}

/// Returns the input at a place if a new value is that input as a rule saw it, else the value. An input that was rounded to 16
/// bits is another value.
constexpr Var unless_unchanged(Var value, std::int64_t place) {
  Var seen = value;
  while ((is<Convert>(seen.node()) || is<FlushSubnormal>(seen.node())) && !is_small(seen.dtype()))
    seen = {seen.tape, seen.node().in[0]};
  return seen.node().op->kind == Kind::input && seen.attributes().integer[0] == place ? seen : value;
}

/// Adds the new value of a place as a root. A value that lies in another place, or is another root already, is copied: each
/// element is the larger of itself and itself.
constexpr void add_new_value(Tape& tape, std::int64_t place, Var value) {
  if (!value.valid()) return;
  value = unless_unchanged(value, place);
  bool lies_elsewhere = value.node().op->kind == Kind::input && value.attributes().integer[0] != place;
  for (const Root& root : tape.roots) lies_elsewhere = lies_elsewhere || root.node == value.id;
  tape.roots.push_back({Role::value, static_cast<int>(place), (lies_elsewhere ? maximum(value, value) : value).id});
}

/// Adds one root for each array that changes or, if a rule looked at parameters one by one, for each parameter's part of it.
/// `changed`: the new parameters and states, by array.
constexpr Tape with_roots(Tape& tape, const Var* changed, int arrays) {
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
  Tape result = simplify(tape);  // rows over all parameters are no longer needed, unless they were reduced
  for (const Node& node : result.nodes)
    if (is<ReplacePart>(node)) {
      result.fail("by_parameter: an adapter reduces over all parameters what was computed for each of them");
      break;
    }
  return result;
}

/// As `trace_update`.
[[gnu::cold]] constexpr Tape trace_any_update(const AnyRule& rule, std::span<const ParameterInfo> parameters, DType sums,
                                              DType real) {
  const int arrays = 2 + rule.states;
  const auto shape_in = [&](int array, const ParameterInfo& parameter) {
    return array < 2 ? parameter.shape : rule.state_shape(array - 2, parameter.shape);
  };
  const auto follows = [&](int array) { return array >= 2 && (rule.following >> (array - 2) & 1) != 0; };
  Tape tape;
  tape.real = sums;
  Var in[2 + max_states], changed[2 + max_states];  // changed: as the rule sees them, then as it leaves them
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
                            << shape << " for a parameter of " << parameter.shape);
      tape.inputs.push_back({shape, stored(a)});
    }
  tape.parameters.assign(parameters.begin(), parameters.end());
  for (int a = 0; a < arrays; ++a)  // a mean that only decays would stay subnormal: 0.9 of the smallest number rounds to itself
    changed[a] = convert(a >= 2 && !follows(a) ? flush_subnormal(in[a]) : in[a], sums);
  Var weight = value_of(0, changed[0]), step = value_of(0, changed[0]);
  changed[0] = rule.apply(changed[0], quotient(changed[1], weight), changed + 2, step);
  for (int a = 0; a < arrays; ++a)
    if (a != 1) changed[a] = convert(as_kept(tape, changed[a], in[a].shape(), a), stored(a));  // gradients stay
  tape.first_adjoint = 0;
  return with_roots(tape, changed, arrays);
}
/// The same at run time.
Tape recorded_update(const AnyRule& rule, std::span<const ParameterInfo> parameters, DType sums, DType real);

}  // namespace detail

/// Records one update of all `parameters`, seen as one row: inputs are the parameters, the window's summed gradient and
/// the state; roots are the new parameters and the new state (`update_place` tells which). The sum is divided here, once, and
/// the rule sees +0 for −0 and subnormals in a state, except in states that follow the parameters.
/// `sums`: the type of the summed gradient, in which the rule computes everything; `real`: that of parameters and states.
template <class Rule>
constexpr Tape trace_update(const Rule& rule, std::span<const ParameterInfo> parameters, DType sums = DType::f32,
                            DType real = DType::f32) {
  return detail::trace_any_update(detail::TypedRule<Rule>(rule), parameters, sums, real);
}
/// The same for one parameter, a vector of `elements`, all in one type.
template <class Rule>
constexpr Tape trace_update(const Rule& rule, std::int64_t elements, DType real = DType::f32) {
  ParameterInfo all;
  all.shape = Shape{elements};
  return trace_update(rule, std::span<const ParameterInfo>(&all, 1), real, real);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/optim/trace_update.ipp>
#endif
