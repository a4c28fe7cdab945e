#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gradual {

/// The rows of a table or data set in parts for cross-validation: each is held back once while others are learned.
/// They depend only on the seed and on what is given for each row.
class Folds {
 public:
  /// Makes folds with each class's share: their numbers of rows per label, and of all rows, differ by at most one.
  /// Errors: OptionError for fewer than two folds; DataError for a label of fewer rows than there are folds, or no rows.
  static Folds stratified(std::span<const std::int32_t> labels, std::int64_t count, std::uint64_t seed);

  /// Makes folds that contain all rows of a group or none, such as those of one patient: each group, largest first, is put into
  /// the fold with the fewest rows. Errors: OptionError as above; DataError for fewer groups than folds.
  static Folds grouped(std::span<const std::int32_t> groups, std::int64_t count, std::uint64_t seed);

  /// Makes folds for forecasts from the past, with a rolling origin: each fold holds back the next `length` times, the last
  /// fold the last ones, and learns all rows whose time is more than `gap` before them. So if a row's target becomes known that
  /// much later than the row's time, only the past is learned from. `times`: per row, a whole number of hours, days or samples,
  /// in any order. Errors: OptionError for no folds, a length that is not positive or a gap below 0; DataError for no rows, or
  /// a fold without rows to learn or to hold back.
  static Folds rolling(std::span<const std::int32_t> times, std::int64_t count, std::int64_t length, std::int64_t gap = 0);

  std::int64_t count() const { return std::ssize(rows_); }
  /// Returns the rows that a fold holds back, or those that it learns, of all other folds or of the past, in order. Errors:
  /// OptionError for a fold that does not exist.
  const std::vector<std::int32_t>& held_back(std::int64_t fold) const;
  std::vector<std::int32_t> learned(std::int64_t fold) const;

 private:
  Folds() = default;
  Folds(std::int64_t count, std::size_t rows);

  std::vector<std::vector<std::int32_t>> rows_, past_;  // past_: the rows to learn, if not all others
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/folds.ipp>
#endif
