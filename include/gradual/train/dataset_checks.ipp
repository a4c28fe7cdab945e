#pragma once
#include <gradual/train/dataset_checks.hpp>

#include <limits>
#include <string>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>

namespace gradual::detail {

GRADUAL_ONCE void check_samples(std::int64_t samples) {
  if (samples <= 0) throw DataError("a data set of " + std::to_string(samples) + " samples");
}

GRADUAL_ONCE void check_made(std::int64_t samples, std::span<const std::int64_t> widths, bool by_nothing) {
  if (samples <= 0 || samples > std::numeric_limits<std::int32_t>::max())
    throw DataError("a data set of " + std::to_string(samples) + " samples that are made: 1 to 2^31 - 1 are possible");
  for (const std::int64_t width : widths)
    if (width <= 0) throw OptionError("a data set that makes " + std::to_string(width) + " values for each sample");
  if (by_nothing) throw OptionError("a data set that is made by an empty function");
}

GRADUAL_ONCE void check_shared(std::int64_t values, std::int64_t samples) {
  if (values == 0 || values % samples != 0)
    throw DataError("a data set of " + std::to_string(samples) + " samples cannot share " + std::to_string(values) +
                    " values evenly: the last span must have one value for each sample; where it has several, tell "
                    "`Dataset<...>::of` how many samples there are");
}

GRADUAL_ONCE void check_held(std::int64_t samples, std::int64_t held) {
  if (held != samples)
    throw DataError("the data set has " + std::to_string(samples) + " samples, but its spans hold " + std::to_string(held) +
                    " for this net: make it with `Dataset<types>::of(samples, spans...)`");
}

GRADUAL_ONCE void check_made_width(std::size_t input, std::int64_t made, std::int64_t needed) {
  if (made != needed)
    throw DataError("the data set makes " + std::to_string(made) + " values of input " + std::to_string(input) +
                    " for each sample, but the net takes " + std::to_string(needed));
}

GRADUAL_ONCE void check_rows(std::span<const std::int32_t> rows, std::int64_t samples) {
  for (const std::int32_t row : rows)
    if (row < 0 || row >= samples)
      throw DataError("make: sample " + std::to_string(row) + " of " + std::to_string(samples));
}

GRADUAL_ONCE void check_room(std::size_t input, std::int64_t width, std::int64_t samples, std::int64_t room) {
  if (samples * width != room)
    throw DataError("make: input " + std::to_string(input) + " has room for " + std::to_string(room) + " values, not for the " +
                    std::to_string(samples * width) + " of " + std::to_string(samples) + " samples");
}

GRADUAL_ONCE void check_subset(std::int64_t begin, std::int64_t count, std::int64_t samples) {
  if (begin < 0 || count <= 0 || count > samples || begin > samples - count)
    throw OptionError("subset: " + std::to_string(count) + " samples from sample " + std::to_string(begin) + " of " +
                      std::to_string(samples));
}

GRADUAL_ONCE void check_batch(std::int64_t batch) {
  if (batch <= 0) throw OptionError("batches of " + std::to_string(batch) + " samples");
}

}  // namespace gradual::detail
