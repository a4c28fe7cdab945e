#pragma once
#include <cstdint>
#include <vector>

namespace gradual::detail {

/// Returns the rows of a table in an order that depends only on `seed` and their number.
/// Errors: DataError for 2³¹ rows or more.
std::vector<std::int32_t> shuffled_rows(std::int64_t rows, std::uint64_t seed);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/shuffled_rows.ipp>
#endif
