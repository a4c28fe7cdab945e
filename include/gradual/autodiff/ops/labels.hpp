#pragma once
#include <gradual/autodiff/ops/argmax.hpp>
#include <gradual/autodiff/ops/input.hpp>

namespace gradual::detail {

/// Tells what stages labels, an input of the program or a view of one, which values are valid: those that every use of them
/// accepts. A label is ignored only where every loss of it ignores it. `rows`: they are indices of a table's rows. Returns
/// whether they are in range then. Errors: parts of one input with different classes.
constexpr bool declare_labels(Var label, std::int64_t classes, std::int64_t ignored, bool rows = false) {
  Tape& tape = *label.tape;
  bool part = false;
  for (Kind kind = label.node().op->kind; kind == Kind::reshape || kind == Kind::slice || kind == Kind::transpose ||
                                          kind == Kind::broadcast; kind = label.node().op->kind) {
    part = part || kind == Kind::slice;
    label = {&tape, label.node().in[0]};
  }
  const Node& source = label.node();
  if (is<ArgMax>(source)) return tape[source.in[0]].shape.unit() <= classes * source.shape.unit();
  if (!is_input(source, Input::sample) || !source.shape.batched()) return false;
  InputInfo& input = tape.inputs[static_cast<std::size_t>(source.attributes.integer[0])];
  input.in_parts = input.in_parts || part;
  if (input.in_parts && input.classes != 0 && input.classes != classes)
    tape.fail(Message() << "labels of " << input.classes << " and of " << classes
                        << " classes are parts of one input: give each an input of its own");
  input.ignored = input.classes == 0 || input.ignored == ignored ? ignored : InputInfo::none;
  if (input.classes == 0 || classes < input.classes) input.classes = classes, input.finds_rows = rows;
  return true;
}

/// Whether there is a label for each row of scores, in range or checked for that when it is staged or, on a tape that runs its
/// ops, at once; else the tape has failed, in the name of `op`.
constexpr bool fits_labels(const char* op, Var scores, Var label, std::int64_t ignored) {
  Tape& tape = *scores.tape;
  const auto layer = [&] { return tape.in_layer({scores}); };
  Shape rows = scores.shape();
  if (rows.rank == 0 || rows.batch_axis == rows.rank - 1)
    return tape.fail(Message() << op << ": scores " << rows << " have no axis of classes" << layer().view()).valid();
  const std::int64_t classes = rows.extent[--rows.rank];
  if (label.dtype() != DType::i32)
    return tape.fail<TypeError>(Message() << op << ": labels are int32 class indices, got " << name_of(label.dtype())
                                          << layer().view()).valid();
  if (!(label.shape() == rows))
    return tape.fail(Message() << op << ": scores " << scores.shape() << " need labels " << rows << ", got "
                               << label.shape() << layer().view()).valid();
  const bool in_range = declare_labels(label, classes, ignored);
  if (tape.executor != nullptr) tape.executor->check_labels(op, tape, label.id, classes, ignored, in_range);
  else if (!in_range)
    return tape.fail(Message() << op << ": labels are computed by " << label.node().op->name
                               << ": only an input's are checked before they are used" << layer().view()).valid();
  return true;
}

}  // namespace gradual::detail
