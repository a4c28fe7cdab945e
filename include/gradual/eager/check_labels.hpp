#pragma once
#include <string>

#include <gradual/autodiff/label_text.hpp>
#include <gradual/core/error.hpp>

namespace gradual::eager {

/// Errors: DataError for a label that the range does not accept.
inline void check_labels(const char* op, const std::int32_t* label, std::int64_t count, const LabelRange& range) {
  for (std::int64_t s = 0; s < count; ++s)
    if (!range.accepts(label[s]))
      throw DataError(std::string(op) + ": " + gradual::detail::noun_of(range) + " " + std::to_string(label[s]) +
                      " at position " + std::to_string(s) + " is outside the " + gradual::detail::all_of(range));
}

}  // namespace gradual::eager
