#pragma once
#include <charconv>
#include <limits>
#include <string>

#include <gradual/core/number_text.hpp>
#include <gradual/files/checkpoint.hpp>
#include <gradual/train/averages.hpp>

namespace gradual::detail {

/// Errors: FileError, which says what the file is, where it is no session's state or, with `of_trainer`, no trainer's.
void check_is_state(const Checkpoint& file, bool of_trainer);

/// More of anything than a run can count, but so few that sums of several do not overflow.
template <class T>
inline constexpr T most_counted = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                              : std::numeric_limits<T>::max() / 4;

/// More samples than any window has, but so few that all their positions can be counted.
inline constexpr std::int64_t most_samples = std::int64_t{1} << 40;

/// Returns a note's number. Errors: FileError where it is missing, not of this type, less than `least`, or more than `most`.
template <class T>
T number_in(const Checkpoint& file, const std::string& name, T least,
            T most = std::is_unsigned_v<T> ? std::numeric_limits<T>::max() : most_counted<T>) {  // a seed may be any
  const std::string& text = file.note(name);
  T number{};
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || last != text.data() + text.size() || number < least || number > most)
    throw FileError("the file's note '" + name + "' cannot be '" + text + "'");
  return number;
}

/// Returns averages as a note: count, weight, the weighted sums of the loss and of each metric, the sums of metrics' own
/// weights and, where metrics have these, after a semicolon, which ones.
std::string exact_text(const Averages& averages);

/// Reads averages of these metrics (null: of any). Errors: FileError where it is missing, or holds samples of other metrics.
Averages averages_in(const Checkpoint& file, const std::string& name, const MetricSet* metrics);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/notes.ipp>
#endif
