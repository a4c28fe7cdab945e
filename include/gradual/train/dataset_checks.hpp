#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace gradual::detail {

// The checks of a data set, whatever its types.

/// Checks the number of samples in spans. Errors: DataError.
void check_samples(std::int64_t samples);
/// Checks a data set that is made. Errors: DataError for its number of samples; OptionError.
void check_made(std::int64_t samples, std::span<const std::int64_t> widths, bool by_nothing);
/// Checks that all samples share a span of `values` values evenly. Errors: DataError.
void check_shared(std::int64_t values, std::int64_t samples);
/// Checks that spans hold as many samples of a net as the data set has. Errors: DataError.
void check_held(std::int64_t samples, std::int64_t held);
/// Checks that as many values are made of an input for each sample as a net takes. Errors: DataError.
void check_made_width(std::size_t input, std::int64_t made, std::int64_t needed);
/// Checks the numbers of requested samples. Errors: DataError.
void check_rows(std::span<const std::int32_t> rows, std::int64_t samples);
/// Checks a span for samples of `width` values each. Errors: DataError naming the input.
void check_room(std::size_t input, std::int64_t width, std::int64_t samples, std::int64_t room);
/// Errors: OptionError.
void check_subset(std::int64_t begin, std::int64_t count, std::int64_t samples);
void check_batch(std::int64_t batch);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/dataset_checks.ipp>
#endif
