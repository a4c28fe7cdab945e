#pragma once
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/math/sqrt.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/data/check_rows.hpp>
#include <gradual/files/checkpoint.hpp>

namespace gradual {

/// Scales every column of row-major data to mean 0 and deviation 1, as measured on the training data.
/// Its state is two arrays of float or double with one value per column, so that a file restores the same bits.
template <std::floating_point Real>
class NormalizerIn {
  using Values = std::vector<Real>;

 public:
  /// Takes the arrays of another one. Errors: DataError for different lengths, no columns, a mean or deviation that is not
  /// finite, or a deviation that is not positive.
  NormalizerIn(Values mean, Values deviation)
      : mean_(std::move(mean)), deviation_(std::move(deviation)) {
    if (mean_.size() != deviation_.size() || mean_.empty())
      throw DataError("normalizer: " + std::to_string(mean_.size()) + " means and " +
                      std::to_string(deviation_.size()) + " deviations");
    for (std::size_t c = 0; c < mean_.size(); ++c)
      if (!math::is_finite(mean_[c]) || !math::is_finite(deviation_[c]) || !(deviation_[c] > 0))
        throw DataError("normalizer, column " + std::to_string(c) + ": mean " + detail::brief_text(mean_[c]) +
                        ", deviation " + detail::brief_text(deviation_[c]) + "; both must be finite, the deviation positive");
  }

  /// Measures `values` (rows, columns) in double, rows in order, as distances from the first row, so that equal values have no
  /// spread; a column without spread gets the deviation 1.
  /// Errors: OptionError for a column count that is not positive; DataError for no rows, an incomplete row, or a value that is
  /// not finite.
  static NormalizerIn fit(std::span<const Real> values, std::int64_t columns) {
    detail::check_rows("normalizer", values.size(), columns);
    if (values.empty()) throw DataError("normalizer: no rows to measure");
    const auto width = static_cast<std::size_t>(columns);
    const double rows = static_cast<double>(values.size() / width);
    std::vector<double> mean(width), square(width);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!math::is_finite(values[i]))
        throw DataError("normalizer, row " + std::to_string(i / width) + ", column " + std::to_string(i % width) +
                        ": a value that is not finite");
      mean[i % width] += double{values[i]} - double{values[i % width]};
    }
    for (double& m : mean) m /= rows;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double distance = double{values[i]} - double{values[i % width]} - mean[i % width];
      square[i % width] += distance * distance;
    }
    Values center(width), deviation(width, 1);
    for (std::size_t c = 0; c < width; ++c) {
      center[c] = static_cast<Real>(double{values[c]} + mean[c]);
      const auto spread = static_cast<Real>(math::sqrt(square[c] / rows));
      if (spread > 0) deviation[c] = spread;
    }
    return {std::move(center), std::move(deviation)};
  }

  /// Normalises row-major `values` in place. Errors: DataError for an incomplete row, with nothing changed.
  void apply(std::span<Real> values) const {
    detail::check_rows("normalizer", values.size(), columns());
    for (std::size_t i = 0, c = 0; i < values.size(); ++i) {
      values[i] = static_cast<Real>((static_cast<double>(values[i]) - mean_[c]) / deviation_[c]);
      if (++c == mean_.size()) c = 0;
    }
  }

  /// Brings normalised values back to the scale of the data, in place. Errors: as `apply`.
  void undo(std::span<Real> values) const {
    detail::check_rows("normalizer", values.size(), columns());
    for (std::size_t i = 0, c = 0; i < values.size(); ++i) {
      values[i] = static_cast<Real>(static_cast<double>(values[i]) * deviation_[c] + mean_[c]);
      if (++c == mean_.size()) c = 0;
    }
  }

  /// Adds the tensors 'name/mean' and 'name/deviation' to a file's contents. Errors: FileError if one exists already.
  void store(Checkpoint& file, const std::string& name) const {
    file.add(name + "/mean", StoredTensor::of({columns()}, std::span<const Real>(mean_)));
    file.add(name + "/deviation", StoredTensor::of({columns()}, std::span<const Real>(deviation_)));
  }
  /// Reads the normalizer stored under `name`. Errors: FileError if it is missing; DataError as for the constructor.
  static NormalizerIn from(const Checkpoint& file, const std::string& name) {
    return detail::in_file(file, [&] {
      return NormalizerIn{file.elements<Real>(name + "/mean"), file.elements<Real>(name + "/deviation")};  // in this order
    });
  }

  std::int64_t columns() const { return static_cast<std::int64_t>(mean_.size()); }
  const Values& mean() const { return mean_; }
  const Values& deviation() const { return deviation_; }

 private:
  Values mean_, deviation_;
};
using Normalizer = NormalizerIn<float>;

}  // namespace gradual
