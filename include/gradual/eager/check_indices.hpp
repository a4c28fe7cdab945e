#pragma once
#include <cstdint>

#include <gradual/core/error.hpp>
#include <gradual/core/message.hpp>

namespace gradual::eager {

/// Errors: DataError for an index outside a table of so many rows.
inline void check_indices(const std::int32_t* index, std::int64_t count, std::int64_t rows) {
  for (std::int64_t s = 0; s < count; ++s)
    if (index[s] < 0 || index[s] >= rows)
      throw DataError((Message() << "gather: index " << std::int64_t{index[s]} << " at position " << s
                                 << " is outside the " << rows << " rows")
                          .string());
}

/// Errors: DataError for a label outside the classes that is not the one to be ignored.
inline void check_labels(const char* op, const std::int32_t* label, std::int64_t count, std::int64_t classes,
                         std::int64_t ignored) {
  for (std::int64_t s = 0; s < count; ++s)
    if ((label[s] < 0 || label[s] >= classes) && label[s] != ignored)
      throw DataError((Message() << op << ": label " << std::int64_t{label[s]} << " at position " << s
                                 << " is outside the " << classes << " classes 0 to " << classes - 1)
                          .string());
}

}  // namespace gradual::eager
