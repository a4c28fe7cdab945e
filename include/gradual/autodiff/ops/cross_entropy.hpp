#pragma once
#include <gradual/autodiff/ops/constant.hpp>
#include <gradual/autodiff/ops/reshape.hpp>
#include <gradual/autodiff/ops/softmax.hpp>

namespace gradual {

/// −log softmax(scores)[label], one value per sample. scores: [batch, ..., classes], label: int32 [batch, ...].
/// Errors: shapes that do not fit, labels that are not int32; a label outside the classes is found when it is staged.
constexpr Var cross_entropy(Var scores, Var label) {
  if (!scores.valid() || !label.valid()) return {};
  Tape& tape = *scores.tape;
  Shape rows = scores.shape();
  const std::int64_t classes = rows.rank > 0 ? rows.extent[--rows.rank] : 0;
  if (label.dtype() != DType::i32)
    return tape.fail(Message() << "cross_entropy: labels are int32 class indices, got " << name_of(label.dtype())
                               << tape.in_layer({scores}).view());
  if (!(label.shape() == rows))
    return tape.fail(Message() << "cross_entropy: scores " << scores.shape() << " need labels " << rows << ", got "
                               << label.shape() << tape.in_layer({scores}).view());
  const Node& source = tape[label.id];
  if (source.op->kind == Kind::input && source.attributes.integer[1] == 0)
    tape.inputs[static_cast<std::size_t>(source.attributes.integer[0])].classes = classes;
  Shape column = rows;
  column.extent[column.rank++] = 1;
  Var chosen = iota(scores, scores.shape().rank - 1) == broadcast(reshape(label, column), scores.shape());
  const Var shifted = detail::Shifted(scores).value;
  return log(sum(exp(shifted), {-1})) - sum(where(chosen, shifted, 0.0), {-1});
}

}  // namespace gradual
