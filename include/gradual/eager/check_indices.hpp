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

}  // namespace gradual::eager
