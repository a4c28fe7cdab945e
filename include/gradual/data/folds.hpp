#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace gradual {

/// The rows of a table or data set in parts, each of which is held back once while the others are learned: cross-validation.
/// They depend on the seed, and on what is given for each row, alone.
class Folds {
 public:
  /// Folds with each class's share: of each label, and of all rows, folds hold as many or one more or less.
  /// Errors: OptionError for fewer than two folds; DataError for a label of fewer rows than there are folds, or no rows.
  static Folds stratified(std::span<const std::int32_t> labels, std::int64_t count, std::uint64_t seed);

  /// Folds that have all rows of a group or none of them, such as those of one patient: the largest first, each is put
  /// into the fold with the fewest rows. Errors: OptionError as above; DataError for fewer groups than folds.
  static Folds grouped(std::span<const std::int32_t> groups, std::int64_t count, std::uint64_t seed);

  std::int64_t count() const { return std::ssize(rows_); }
  /// The rows of a fold, and those of all others, in their order. Errors: OptionError for a fold that there is not.
  const std::vector<std::int32_t>& held_back(std::int64_t fold) const;
  std::vector<std::int32_t> learned(std::int64_t fold) const;

 private:
  Folds(std::int64_t count, std::size_t rows);

  std::vector<std::vector<std::int32_t>> rows_;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/folds.ipp>
#endif
