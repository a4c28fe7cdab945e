#pragma once
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/data/check_rows.hpp>
#include <gradual/files/checkpoint.hpp>

namespace gradual {

/// Fills missing values in columns of row-major data, NaN as read by `CsvOptions::missing`, with one value per column: the mean
/// of those present in the training data.
template <std::floating_point Real>
class ImputerIn {
  using Values = std::vector<Real>;

 public:
  /// Takes one value per column. Errors: DataError for no columns, or a value that is not finite.
  explicit ImputerIn(Values fill) : fill_(std::move(fill)) {
    if (fill_.empty()) throw DataError("imputer: no columns");
    for (std::size_t c = 0; c < fill_.size(); ++c)
      if (!math::is_finite(fill_[c]))
        throw DataError("imputer, column " + std::to_string(c) + ": it would fill in " + detail::brief_text(fill_[c]));
  }

  /// Measures `values` (rows, columns) in double, rows in order, as distances from a column's first value.
  /// Errors: OptionError for a column count that is not positive; DataError for an incomplete row, an infinite value, or a
  /// column without values.
  static ImputerIn fit(std::span<const Real> values, std::int64_t columns) {
    detail::check_rows("imputer", values.size(), columns);
    const auto width = static_cast<std::size_t>(columns);
    Values fill;
    for (std::size_t c = 0; c < width; ++c) {
      double first = 0, sum = 0;
      std::int64_t count = 0;
      for (std::size_t i = c; i < values.size(); i += width) {
        if (values[i] != values[i]) continue;
        if (!math::is_finite(values[i]))
          throw DataError("imputer, row " + std::to_string(i / width) + ", column " + std::to_string(c) +
                          ": a value that is infinite");
        if (count++ == 0) first = values[i];
        sum += double{values[i]} - first;
      }
      if (count == 0) throw DataError("imputer, column " + std::to_string(c) + ": no row has a value");
      fill.push_back(static_cast<Real>(first + sum / static_cast<double>(count)));
    }
    return ImputerIn(std::move(fill));
  }

  /// Fills row-major `values` in place. Errors: DataError for an incomplete row, with nothing changed.
  void apply(std::span<Real> values) const {
    detail::check_rows("imputer", values.size(), columns());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != values[i]) values[i] = fill_[i % fill_.size()];
  }

  /// Returns 1 where a value is missing, else 0: an input that tells a net which values were filled in.
  static Values missing(std::span<const Real> values) {
    Values marks;
    marks.reserve(values.size());
    for (const Real value : values) marks.push_back(value != value ? Real{1} : Real{0});
    return marks;
  }

  /// Adds the tensor 'name/fill' to a file's contents. Errors: FileError if it exists already.
  void store(Checkpoint& file, const std::string& name) const {
    file.add(name + "/fill", StoredTensor::of({columns()}, std::span<const Real>(fill_)));
  }
  /// Reads the imputer stored under `name`. Errors: FileError if it is missing; DataError as for the constructor.
  static ImputerIn from(const Checkpoint& file, const std::string& name) {
    return detail::in_file(file, [&] { return ImputerIn(file.elements<Real>(name + "/fill")); });
  }

  std::int64_t columns() const { return static_cast<std::int64_t>(fill_.size()); }
  const Values& fill() const { return fill_; }

 private:
  Values fill_;
};
using Imputer = ImputerIn<float>;

}  // namespace gradual
