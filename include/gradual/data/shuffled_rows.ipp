#pragma once
#include <gradual/data/shuffled_rows.hpp>

#include <limits>
#include <string>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/shuffle.hpp>

namespace gradual::detail {

GRADUAL_ONCE std::vector<std::int32_t> shuffled_rows(std::int64_t rows, std::uint64_t seed) {
  if (rows > std::numeric_limits<std::int32_t>::max())
    throw DataError("table: " + std::to_string(rows) + " rows are too many to shuffle");
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
  shuffle(order, seed, 0);
  return order;
}

}  // namespace gradual::detail
