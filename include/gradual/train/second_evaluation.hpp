#pragma once
#include <cstdint>

#include <gradual/train/averages.hpp>
#include <gradual/train/session_options.hpp>

// The requirements of sessions on windows that their optimizer evaluates twice.

namespace gradual::detail {

/// Errors: OptionError for options with which a window's end is not known in advance, or part of it may be dropped.
void check_ends_known(const SessionOptions& options);

/// Errors: OptionError for `samples` samples where the window has room for fewer.
void check_room(std::int64_t samples, std::int64_t room);

/// `samples`, `window`: those given the second time. Errors: DataError where they differ in number from `first`, or in weight.
void check_given_again(std::int64_t samples, const Averages& window, std::int64_t first,
                       const Averages& first_window);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/second_evaluation.ipp>
#endif
