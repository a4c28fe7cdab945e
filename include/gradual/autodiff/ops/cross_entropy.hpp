#pragma once
#include <gradual/autodiff/loss.hpp>
#include <gradual/autodiff/ops/labels.hpp>
#include <gradual/autodiff/ops/softmax.hpp>
#include <gradual/autodiff/ops/with_index.hpp>

namespace gradual {

struct CrossEntropyOptions {
  double label_smoothing = 0;  ///< the fraction of a target that is spread evenly over all classes, from 0 to 1
};

namespace detail {
constexpr Var cross_entropy(Var scores, Var label, std::int64_t ignored, const CrossEntropyOptions& options) {
  if (!given("cross_entropy", {scores, label})) return {};
  scores = widened(scores);
  Tape& tape = *scores.tape;
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    return tape.fail<OptionError>(Message() << "cross_entropy: a label_smoothing of " << smoothing
                                            << ", outside 0 to 1", {scores});
  if (!fits_labels("cross_entropy", scores, label, ignored)) return {};
  const Var chosen = is_at(scores.shape(), label, -1);
  const Var shifted = Shifted(scores).value;
  Var expected = where(chosen, shifted, 0.0);
  if (smoothing > 0) {
    const Shape& shape = scores.shape();
    const double share = smoothing / static_cast<double>(shape.product(shape.rank - 1, shape.rank));
    expected = where(chosen, (1 - smoothing + share) * shifted, share * shifted);
  }
  return log(sum(exp(shifted), {-1})) - sum(expected, {-1});
}
}  // namespace detail

/// Returns −log softmax(scores)[label], one value per sample. scores: [batch, ..., classes], label: int32 [batch, ...]. Errors:
/// shapes that do not fit, labels that are not int32, or that a compiled net computes other than by argmax; a label outside the
/// classes is detected when it is staged or, on a tape that runs its ops, at once.
/// `{.label_smoothing = ε}` gives the target weight 1 − ε at the label plus ε/classes at each class (Szegedy et al. 2016), as
/// in PyTorch. Errors: also OptionError for a smoothing outside 0 to 1.
constexpr Var cross_entropy(Var scores, Var label, const CrossEntropyOptions& options = {}) {
  return detail::cross_entropy(scores, label, LabelRange::none, options);
}

/// Does the same where some labels are `ignored`, such as those of padding: their weight in the loss is 0, so that means are
/// over the others. If a window has ignored labels only, its mean is NaN and it makes no step; with sums it makes one, with
/// gradient 0.
constexpr Loss cross_entropy(Var scores, Var label, std::int32_t ignored, const CrossEntropyOptions& options = {}) {
  const Var value = detail::cross_entropy(scores, label, ignored, options);
  if (!value.valid()) return value;
  const Var is_ignored = label == static_cast<double>(ignored);
  return Loss(where(is_ignored, 0.0, value)).weighted_by(where(is_ignored, 0.0, constant_like(value, 1)));
}
Loss cross_entropy(Var scores, Var label, double ignored) = delete;  // a fraction is not a label: {.label_smoothing = 0.1}

}  // namespace gradual
