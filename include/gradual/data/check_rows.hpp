#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include <gradual/core/error.hpp>

namespace gradual::detail {

/// Errors: OptionError for a column count that is not positive; DataError for an incomplete row.
inline void check_rows(const char* who, std::size_t values, std::int64_t columns) {
  if (columns <= 0) throw OptionError(std::string(who) + ": " + std::to_string(columns) + " columns");
  if (values % static_cast<std::size_t>(columns) != 0)
    throw DataError(std::string(who) + ": " + std::to_string(values) + " values are not rows of " + std::to_string(columns));
}

}  // namespace gradual::detail
