#pragma once
#include <cstdint>

#include <gradual/train/averages.hpp>
#include <gradual/train/session_options.hpp>

// What sessions ask of windows that their optimizer evaluates twice.

namespace gradual::detail {

/// Errors: OptionError for options under which the end of a window is not known in advance, or part of it may be dropped.
void check_ends_known(const SessionOptions& options);

/// Errors: OptionError for `samples` samples where the window has room for fewer.
void check_room(std::int64_t samples, std::int64_t room);

/// `samples`, `window`: what was given the second time. Errors: DataError where it is another number of samples than `first`,
/// or weighs otherwise.
void check_given_again(std::int64_t samples, const Averages& window, std::int64_t first,
                       const Averages& first_window);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/second_evaluation.ipp>
#endif
