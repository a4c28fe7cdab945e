#pragma once
#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual {

/// The elements of an input's samples that are labels or other indices (`count` from `begin` on in every `period` of a sample's
/// elements), the values that they may have, and the value that stands for no class.
struct LabelRange {
  enum class Of : unsigned char { label, table_row, place };  ///< what they are, for errors
  static constexpr std::int64_t none = std::int64_t{1} << 62;  ///< `ignored`, if no label is to be ignored
  int input = -1;
  std::int64_t begin = 0, count = 0, period = 0;
  std::int64_t classes = 0;
  std::int64_t ignored = none;
  Of of = Of::label;
  bool exact = true;  ///< otherwise, some of these elements are not such labels

  constexpr bool operator==(const LabelRange&) const = default;
  GRADUAL_HD constexpr bool is_whole() const { return count == period; }
  GRADUAL_HD constexpr bool holds(std::int64_t element) const {
    return is_whole() || (element % period >= begin && element % period < begin + count);
  }
  GRADUAL_HD constexpr bool accepts(std::int64_t label) const { return (label >= 0 && label < classes) || label == ignored; }
};

}  // namespace gradual
