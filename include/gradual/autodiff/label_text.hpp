#pragma once
#include <string>

#include <gradual/autodiff/label_range.hpp>

namespace gradual::detail {

/// Returns what errors call an element of a range.
constexpr const char* noun_of(const LabelRange& range) { return range.of == LabelRange::Of::label ? "label" : "index"; }

/// Returns a description of the values that a range accepts.
inline std::string all_of(const LabelRange& range) {
  const std::string count = std::to_string(range.classes), places = " 0 to " + std::to_string(range.classes - 1);
  const std::string ignored =
      range.ignored == LabelRange::none ? "" : " and not the ignored " + std::to_string(range.ignored);
  switch (range.of) {
    case LabelRange::Of::table_row: return "table's " + count + " rows" + places;
    case LabelRange::Of::place: return count + " places" + places + ignored;
    default: return count + " classes" + places + ignored;
  }
}

}  // namespace gradual::detail
