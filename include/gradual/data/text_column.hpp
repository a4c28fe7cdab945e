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
  /// Without given categories, the texts that are met are the categories. `unknown`: the number of any other text than those
  /// given.
  explicit TextColumn(const Categories& given, std::optional<std::int64_t> unknown = {});

  /// The number of a text, which `sorted` may change. Errors: DataError for a text that is none of those given
  /// where there is no `unknown`, for one of several lines, and for more than there are whole numbers in float.
  std::int32_t number(const std::string& text);

  /// The categories and, for each number so far, its final one; none where no number changes.
  std::pair<Categories, std::vector<std::int32_t>> sorted() const;

 private:
  Categories given_;
  std::optional<std::int64_t> unknown_;
  std::map<std::string, std::int32_t> numbers_;  // of texts that were met, where none are given
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/text_column.ipp>
#endif
