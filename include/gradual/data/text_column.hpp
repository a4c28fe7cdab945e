#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gradual/data/categories.hpp>

namespace gradual::detail {

/// Numbers the texts of a table's column while it is read.
class TextColumn {
 public:
  /// Without given categories, the texts encountered become the categories. `unknown`: the number for texts other than those
  /// given.
  explicit TextColumn(const Categories& given, std::optional<std::int64_t> unknown = {});

  /// Returns a text's number, which `sorted` may change. Errors: DataError for a text that is not among those given, without
  /// `unknown`; for an invalid category; and for more texts than float has exact whole numbers.
  std::int32_t number(const std::string& text);

  /// Returns the categories and, for each number so far, its final one; no numbers if none changes.
  std::pair<Categories, std::vector<std::int32_t>> sorted() const;

 private:
  Categories given_;
  std::optional<std::int64_t> unknown_;
  std::map<std::string, std::int32_t> numbers_;  // of texts encountered, if none are given
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/text_column.ipp>
#endif
