#pragma once
#include <gradual/autodiff/ops/argmax.hpp>
#include <gradual/autodiff/ops/input.hpp>

namespace gradual::detail {

/// Replaces a view by the value that it views, and returns which elements of that value it reads.
constexpr LabelRange find_source(Var& label) {
  LabelRange range{.count = label.shape().unit(), .period = label.shape().unit()};
  while (is_view(label.node())) {
    const Node& view = label.node();
    const Kind kind = view.op->kind;
    label = {label.tape, view.in[0]};
    if (kind == Kind::reshape || view.shape.unit() == 0) continue;
    std::int64_t begin = 0, count = label.shape().unit(), period = count;
    if (kind == Kind::slice) {
      const int axis = static_cast<int>(view.attributes.integer[0]);
      const std::int64_t inner = view.shape.product(axis + 1, view.shape.rank);
      begin = view.attributes.integer[1] * inner;
      count = view.shape.extent[axis] * inner;
      period = label.shape().extent[axis] * inner;
      if (const std::int64_t at = range.begin % count;
          !range.is_whole() && range.period % count == 0 && at + range.count <= count) {  // inside a row of the slice
        range.begin = range.begin / count * period + begin + at;
        range.period = range.period / count * period;
        continue;
      }
    }
    range = {.begin = begin, .count = count, .period = period, .exact = range.exact && range.is_whole()};
  }
  return range;
}

/// Records which values of labels, an input of the program or a view of one, are valid when they are staged: those that every
/// use of them accepts. A label is ignored only if every loss that uses it ignores it. Returns whether the labels are then in
/// range. Errors: views of one input that have different numbers of classes but cannot be told apart.
constexpr bool declare_labels(Var label, std::int64_t classes, std::int64_t ignored, LabelRange::Of of) {
  Tape& tape = *label.tape;
  LabelRange range = find_source(label);
  const Node& source = label.node();
  if (is<ArgMax>(source)) return tape[source.in[0]].shape.unit() <= classes * source.shape.unit();
  if (!is_input(source, Input::sample) || !source.shape.batched()) return false;
  range.input = static_cast<int>(source.attributes.integer[0]);
  range.classes = classes;
  range.ignored = ignored;
  range.of = of;
  for (const LabelRange& other : tape.label_ranges) {
    if (other == range) return true;
    if (other.input != range.input || other.classes == classes || (other.exact && range.exact)) continue;
    for (std::int64_t element = 0; element < source.shape.unit(); ++element)
      if (other.holds(element) && range.holds(element)) {
        tape.fail(Message() << "labels of " << other.classes << " and of " << classes
                            << " classes are views of one input that may overlap: give each an input of its own");
        return true;
      }
  }
  tape.label_ranges.push_back(range);
  return true;
}

/// Returns the error text for labels or indices of `classes` that are computed and therefore never staged.
constexpr Message computed(const char* op, const char* what, Var source, std::int64_t classes) {
  find_source(source);
  const Node& node = source.node();
  Message said = Message() << op << what << " are computed by " << node.op->name;
  if (is<ArgMax>(node)) {
    const std::int64_t values = (*source.tape)[node.in[0]].shape.unit() / node.shape.unit();
    return said << " of " << values << " values: only " << classes << " are valid";
  }
  return said << ": take them from an input, which is checked before use";
}

/// Whether labels are integers and, as indices of `classes`, in range or checked when they are staged or, on a tape that runs
/// its ops, at once; else fails the tape in the name of `op` and the layer of `x`.
constexpr bool takes_labels(const char* op, Var x, Var label, std::int64_t classes, std::int64_t ignored,
                            LabelRange::Of of = LabelRange::Of::label) {
  Tape& tape = *label.tape;
  const bool labels = of == LabelRange::Of::label;
  if (label.dtype() != DType::i32)
    return tape.fail<TypeError>(Message() << op << (labels ? ": labels are int32 class indices" : ": indices are int32")
                                          << ", got " << name_of(label.dtype()), {x}).valid();
  const bool in_range = declare_labels(label, classes, ignored, of);
  if (tape.executor != nullptr)
    tape.executor->check_labels(op, tape, label.id, {.classes = classes, .ignored = ignored, .of = of}, in_range);
  else if (!in_range)
    return tape.fail(computed(op, labels ? ": labels" : ": indices", label, classes), {x}).valid();
  return true;
}

/// Whether there is a label for each row of scores, and `takes_labels`.
constexpr bool fits_labels(const char* op, Var scores, Var label, std::int64_t ignored) {
  Tape& tape = *scores.tape;
  Shape rows = scores.shape();
  if (rows.rank == 0 || rows.batch_axis == rows.rank - 1)
    return tape.fail(Message() << op << ": scores " << rows << " have no axis of classes", {scores}).valid();
  const std::int64_t classes = rows.extent[--rows.rank];
  if (!(label.shape() == rows))
    return tape.fail(Message() << op << ": scores " << scores.shape() << " need labels " << rows << ", got " << label.shape(),
                     {scores}).valid();
  return takes_labels(op, scores, label, classes, ignored);
}

}  // namespace gradual::detail
