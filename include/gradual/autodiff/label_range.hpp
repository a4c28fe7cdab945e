#pragma once
#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual {

/// Which elements of an input's samples are labels, or other indices, and what they may be: `count` from `begin` on in every
/// `period` of a sample's elements, and which of them stands for no class.
struct LabelRange {
  enum class Of : unsigned char { label, table_row, place };  ///< what they are, for errors
  static constexpr std::int64_t none = std::int64_t{1} << 62;  ///< no label
  int input = -1;
  std::int64_t begin = 0, count = 0, period = 0;
  std::int64_t classes = 0;
  std::int64_t ignored = none;
  Of of = Of::label;
  bool exact = true;  ///< else there are elements among them that are no such labels

  constexpr bool operator==(const LabelRange&) const = default;
  GRADUAL_HD constexpr bool is_whole() const { return count == period; }
  GRADUAL_HD constexpr bool holds(std::int64_t element) const {
    return is_whole() || (element % period >= begin && element % period < begin + count);
  }
  GRADUAL_HD constexpr bool accepts(std::int64_t label) const { return (label >= 0 && label < classes) || label == ignored; }
};

}  // namespace gradual
