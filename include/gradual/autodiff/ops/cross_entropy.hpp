#pragma once
#include <gradual/autodiff/loss.hpp>
#include <gradual/autodiff/ops/argmax.hpp>
#include <gradual/autodiff/ops/constant.hpp>
#include <gradual/autodiff/ops/iota.hpp>
#include <gradual/autodiff/ops/input.hpp>
#include <gradual/autodiff/ops/reshape.hpp>
#include <gradual/autodiff/ops/softmax.hpp>

namespace gradual {

struct CrossEntropyOptions {
  double label_smoothing = 0;  ///< the part of a target that all classes share alike, from 0 to 1
};

namespace detail {
/// Tells what stages the labels, where they are an input of the program or a view of one, which there are: those that
/// every use of them accepts. A label is ignored only where every loss of it ignores it. `rows`: they are indices of a table's
/// rows. Returns whether they are in range then. Errors: parts of one input with different classes.
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

constexpr Var cross_entropy(Var scores, Var label, std::int64_t ignored, const CrossEntropyOptions& options) {
  if (!given("cross_entropy", {scores, label})) return {};
  scores = widened(scores);
  Tape& tape = *scores.tape;
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    return tape.fail<OptionError>(Message() << "cross_entropy: a label_smoothing of " << smoothing << ", outside 0 to 1"
                                            << tape.in_layer({scores}).view());
  Shape rows = scores.shape();
  if (rows.rank == 0 || rows.batch_axis == rows.rank - 1)
    return tape.fail(Message() << "cross_entropy: scores " << rows << " have no axis of classes"
                               << tape.in_layer({scores}).view());
  const std::int64_t classes = rows.extent[--rows.rank];
  if (label.dtype() != DType::i32)
    return tape.fail<TypeError>(Message() << "cross_entropy: labels are int32 class indices, got "
                                          << name_of(label.dtype()) << tape.in_layer({scores}).view());
  if (!(label.shape() == rows))
    return tape.fail(Message() << "cross_entropy: scores " << scores.shape() << " need labels " << rows << ", got "
                               << label.shape() << tape.in_layer({scores}).view());
  const bool in_range = declare_labels(label, classes, ignored);
  if (tape.executor != nullptr) tape.executor->check_labels(tape, label.id, classes, ignored, in_range);
  else if (!in_range)
    return tape.fail(Message() << "cross_entropy: labels are computed by " << label.node().op->name
                               << ": only an input's are checked before they are used" << tape.in_layer({scores}).view());
  Shape column = rows;
  column.extent[column.rank++] = 1;
  Var chosen = iota(scores, scores.shape().rank - 1) == broadcast(reshape(label, column), scores.shape());
  const Var shifted = Shifted(scores).value;
  Var expected = where(chosen, shifted, 0.0);
  if (smoothing > 0) {
    const double share = smoothing / static_cast<double>(classes);
    expected = where(chosen, (1 - smoothing + share) * shifted, share * shifted);
  }
  return log(sum(exp(shifted), {-1})) - sum(expected, {-1});
}
}  // namespace detail

/// −log softmax(scores)[label], one value per sample. scores: [batch, ..., classes], label: int32 [batch, ...].
/// Errors: shapes that do not fit, labels that are not int32, or that a compiled net computes (but for argmax); a label
/// outside the classes is found when it is staged or, on a tape that runs its ops, at once.
/// `{.label_smoothing = ε}`: against (1 − ε) of the label and ε/classes of each class (Szegedy et al. 2016), as in PyTorch.
/// Errors: also OptionError for one outside 0 to 1.
constexpr Var cross_entropy(Var scores, Var label, const CrossEntropyOptions& options = {}) {
  return detail::cross_entropy(scores, label, InputInfo::none, options);
}

/// The same where some labels are `ignored`, such as those of padding: their weight in the loss is 0, so that means are
/// over the others. A window of ignored labels alone makes no step, and its mean is NaN.
constexpr Loss cross_entropy(Var scores, Var label, std::int32_t ignored, const CrossEntropyOptions& options = {}) {
  const Var value = detail::cross_entropy(scores, label, ignored, options);
  if (!value.valid()) return value;
  const Var is_ignored = label == static_cast<double>(ignored);
  return Loss(where(is_ignored, 0.0, value)).weighted_by(where(is_ignored, 0.0, constant_like(value, 1)));
}
Loss cross_entropy(Var scores, Var label, double ignored) = delete;  // a fraction is no label: {.label_smoothing = 0.1}

}  // namespace gradual
