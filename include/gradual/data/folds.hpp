#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace gradual {

/// The rows of a table or data set in parts, each of which is held back once while others are learned: cross-validation.
/// They depend on the seed, and on what is given for each row, alone.
class Folds {
 public:
  /// Folds with each class's share: of each label, and of all rows, folds hold as many or one more or less.
  /// Errors: OptionError for fewer than two folds; DataError for a label of fewer rows than there are folds, or no rows.
  static Folds stratified(std::span<const std::int32_t> labels, std::int64_t count, std::uint64_t seed);

  /// Folds that have all rows of a group or none of them, such as those of one patient: the largest first, each is put
  /// into the fold with the fewest rows. Errors: OptionError as above; DataError for fewer groups than folds.
  static Folds grouped(std::span<const std::int32_t> groups, std::int64_t count, std::uint64_t seed);

  /// Folds that are forecast from what came before, a rolling origin: fold by fold the next `length` times are held back, the
  /// last ones by the last fold, and all rows are learned whose time lies more than `gap` before them. A row's target that is
  /// known so much later than the row's time is so learned from the past alone. `times`: of each row, a whole number of hours,
  /// days or samples, in any order. Errors: OptionError for no folds, a length that is not positive or a gap below 0; DataError
  /// for no rows, or a fold without rows to learn or to hold back.
  static Folds rolling(std::span<const std::int32_t> times, std::int64_t count, std::int64_t length, std::int64_t gap = 0);

  std::int64_t count() const { return std::ssize(rows_); }
  /// The rows of a fold, and those that are learned, of all others or of the past, in their order. Errors: OptionError for a
  /// fold that there is not.
  const std::vector<std::int32_t>& held_back(std::int64_t fold) const;
  std::vector<std::int32_t> learned(std::int64_t fold) const;

 private:
  Folds() = default;
  Folds(std::int64_t count, std::size_t rows);

  std::vector<std::vector<std::int32_t>> rows_, past_;  // past: what is learned, where not all others are
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/folds.ipp>
#endif
