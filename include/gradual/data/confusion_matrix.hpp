#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <vector>

namespace gradual {

/// Counts how often samples of each class were assigned to each class: `ConfusionMatrix(trainer.predict(x), y)`.
class ConfusionMatrix {
 public:
  /// Starts without samples. Errors: OptionError for a class count that is not positive, or is 2³⁰ or more; MemoryError.
  explicit ConfusionMatrix(std::int64_t classes);
  /// Assigns each sample to the first class with the largest score, as `argmax` does. `scores`: one per class and sample, row
  /// by row. Samples whose label is `ignored` do not count.
  /// Errors: DataError for no labels, scores that are not one row per label, a single score per label, or a label that is not a
  /// class.
  template <class Scores>
  ConfusionMatrix(const Scores& scores, std::span<const std::int32_t> labels, std::optional<std::int32_t> ignored = {})
      : ConfusionMatrix(classes_of(std::size(scores), labels.size())) {
    const auto less = [](auto a, auto b) { return a < b || (b != b && a == a); };  // NaN is the largest
    const auto* row = std::data(scores);
    for (const std::int32_t label : labels) {
      if (label != ignored) add(label, std::max_element(row, row + classes_, less) - row);
      row += classes_;
    }
  }

  std::int64_t classes() const { return classes_; }
  /// Counts one more sample. Errors: DataError for a class that does not exist.
  void add(std::int64_t label, std::int64_t guess);
  /// Errors: DataError for a class that does not exist, as for all below that take one.
  std::int64_t count(std::int64_t label, std::int64_t guess) const { return counts_[place(label, guess)]; }

  double accuracy() const;
  /// One class's scores, like the metrics of these names: TP/(TP + FP), TP/(TP + FN) and 2TP/(2TP + FP + FN); NaN for 0/0.
  double precision(std::int64_t of) const;
  double recall(std::int64_t of) const;
  double f1(std::int64_t of) const;
  /// Means over the classes that occur as labels or guesses; an undefined score counts as 0, as in scikit-learn.
  double macro_precision() const { return mean(&ConfusionMatrix::precision); }
  double macro_recall() const { return mean(&ConfusionMatrix::recall); }
  double macro_f1() const { return mean(&ConfusionMatrix::f1); }

 private:
  static std::int64_t classes_of(std::size_t scores, std::size_t labels);
  std::size_t place(std::int64_t label, std::int64_t guess) const;
  std::int64_t labelled(std::int64_t of) const;
  std::int64_t guessed(std::int64_t of) const;
  double mean(double (ConfusionMatrix::*score)(std::int64_t) const) const;

  std::int64_t classes_;
  std::vector<std::int64_t> counts_;
};

/// Writes one row per label: how many samples were assigned to each class, and the label's scores.
std::ostream& operator<<(std::ostream& out, const ConfusionMatrix& matrix);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/confusion_matrix.ipp>
#endif
