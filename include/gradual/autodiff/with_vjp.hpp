#pragma once
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradual/autodiff/operand_list.hpp>
#include <gradual/autodiff/ops.hpp>

namespace gradual {

namespace detail {

/// The nodes that a rule of `with_vjp` recorded, from `first` on, and which of them depend on sums over samples.
class RecordedRule {
 public:
  constexpr RecordedRule(Tape& tape, int first) : tape_(tape), first_(first) {
    for (int id = first; id < tape.size(); ++id) {
      const Node& node = tape[id];
      bool summed = is_sample_sum(node.op->kind);
      for (int k = 0; k < node.op->arity; ++k) summed = summed || is_summed(node.in[k]);
      summed_.push_back(summed);
      if (summed && node.shape.batched())
        tape.fail(Message() << "with_vjp: the rule computes " << node.op->name << " " << node.shape
                            << " from a sum over samples, which couples the samples of a batch", {Var(&tape, id)});
    }
  }

  /// Returns the rule's adjoint of operand `which`, summed to the operand's shape. Errors: TapeError, TypeError, ShapeError for
  /// one that does not fit the operand.
  constexpr Var adjoint(Var by_rule, Var operand, int which, bool of_samples) const {
    if (!by_rule.valid() || !given("with_vjp", {operand, by_rule})) return {};
    const Shape shape = by_rule.shape(), wanted = operand.shape();
    Message wrong, no_repetition;
    wrong << "with_vjp: the rule gives operand " << which << ", " << name_of(operand.dtype()) << wanted << ", a wrong adjoint "
          << name_of(by_rule.dtype()) << shape;
    if (by_rule.dtype() != operand.dtype() && by_rule.dtype() != computed_in(operand.dtype()))
      return tape_.fail<TypeError>(wrong, {operand});
    if (!(broadcast_shape(wanted, shape, no_repetition) == shape) || !no_repetition.empty()) return tape_.fail(wrong, {operand});
    if (of_samples && !wanted.batched() && !shape.batched() && !is_summed(by_rule.id))
      return tape_.fail(wrong << ", which is not a sum over samples", {operand});
    return reduce_to(by_rule, wanted);
  }

 private:
  constexpr bool is_summed(int id) const { return id >= first_ && summed_[static_cast<std::size_t>(id - first_)] != 0; }

  Tape& tape_;
  int first_;
  std::vector<char> summed_;
};

/// The op of `with_vjp`: equals its first operand, which gets no adjoint; the other operands get those that the rule records.
/// No program contains it: tapes are simplified after backward has been recorded, and it is then replaced by that operand.
template <class Rule, int Operands>
struct WithVjp {
  static constexpr const char* name = "with_vjp";
  static constexpr int operands = 1 + Operands, arity = operands < 3 ? operands : 3;
  static constexpr Kind kind = Kind::reshape;

  /// `of`: the operands, then the value itself.
  template <class... V>
  static constexpr Adjoints<operands> vjp(Var g, Var, V... of) {
    Tape& tape = *g.tape;
    const Var operand[] = {of...};
    Adjoints<operands> result{};
    if (tape.in_jvp) {
      tape.fail<TapeError>(Message() << "jvp: with_vjp defines adjoints, not how its value changes"
                                     << tape.in_layer({operand[Operands]}).view() << ": vjp and hessian_vector work with it");
      return result;
    }
    const Composite called(name, g);
    const int first = tape.size();
    const auto adjoints = Rule{}(g, of...);
    const RecordedRule recorded(tape, first);
    for (int k = 0; k < Operands; ++k) {
      Var adjoint;
      if constexpr (Operands == 1) adjoint = adjoints;
      else adjoint = adjoints.of[k];
      result.of[1 + k] = recorded.adjoint(adjoint, operand[k], k, g.shape().batched());
    }
    return result;
  }
};

template <class Rule, std::size_t... K>
constexpr bool is_vjp_rule(std::index_sequence<K...>) {
  using Result = std::conditional_t<sizeof...(K) == 1, Var, Adjoints<static_cast<int>(sizeof...(K))>>;
  return requires(Rule rule, Var g, const Var* in, Var y) {
    { rule(g, in[K]..., y) } -> std::same_as<Result>;
  };
}

}  // namespace detail

/// Returns `value`, bit for bit, with a custom derivative: its adjoint is not passed to `value` but turned by `rule` into
/// adjoints of the operands. A rule records ops as an op's `vjp` does, and they can be differentiated like all others:
///   with_vjp(x, {x}, [](Var g, Var x, Var y) { return -g; })
///   with_vjp(y, {a, b}, [](Var g, Var a, Var b, Var y) { return Adjoints<2>{{g * b, {}}}; })
/// An adjoint has its operand's type and shape, or a shape to which that broadcasts: then it is summed, over samples too. An
/// invalid Var stands for zero. A rule has no state: a number that it needs is an operand, `constant_like(x, strength)`.
/// Errors: TypeError for a value of integers; ShapeError for an operand of samples where the value has none. When backward is
/// recorded: TypeError and ShapeError for adjoints that do not fit, or if the rule couples samples; TapeError for `jvp`.
template <std::size_t Operands, class Rule>
constexpr Var with_vjp(Var value, const Var (&operands)[Operands], Rule) {
  static_assert(Operands <= most_operands, "with_vjp takes up to six operands");
  static_assert(std::is_empty_v<Rule> && std::is_default_constructible_v<Rule>,
                "a rule of with_vjp must have no state, like a lambda without captures: pass what it needs as operands");
  static_assert(detail::is_vjp_rule<Rule>(std::make_index_sequence<Operands>()),
                "a rule of with_vjp takes (Var g, a Var for each operand, Var y) and returns Adjoints<operands>, or a Var if "
                "there is only one");
  for (const Var& operand : operands)
    if (!detail::given("with_vjp", {value, operand})) return {};
  Tape& tape = *value.tape;
  const Var a = operands[0];
  if (value.dtype() == DType::i32) return tape.fail<TypeError>(Message() << "with_vjp: integers have no derivative", {value, a});
  for (const Var& operand : operands)
    if (operand.shape().batched() && !value.shape().batched())
      return tape.fail(Message() << "with_vjp: a value without samples, " << value.shape()
                                 << ", has no derivative with respect to samples, " << operand.shape(), {value, operand});
  const OpInfo& op = op_info<detail::WithVjp<Rule, static_cast<int>(Operands)>>;
  if constexpr (Operands == 1) return tape.record(op, {value, a}, value.shape(), value.dtype());
  Var others = operands[Operands - 1];
  for (std::size_t k = Operands - 1; k-- > 1;)
    others = tape.record(op_info<OperandList>, {operands[k], others}, operands[k].shape(), operands[k].dtype());
  return tape.record(op, {value, a, others}, value.shape(), value.dtype());
}

}  // namespace gradual
