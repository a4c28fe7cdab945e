#pragma once
#include <charconv>
#include <limits>
#include <string>

#include <gradual/core/number_text.hpp>
#include <gradual/files/checkpoint.hpp>
#include <gradual/train/averages.hpp>

namespace gradual::detail {

/// Errors: FileError for a file that is no session's state or, where `of_trainer`, no trainer's: it says what it is.
void check_is_state(const Checkpoint& file, bool of_trainer);

/// More of anything than can be counted in a run, and so few that sums of some are numbers too.
template <class T>
inline constexpr T most_counted = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                              : std::numeric_limits<T>::max() / 4;

/// More samples than a window has, and so few that what each has of positions can be counted.
inline constexpr std::int64_t most_samples = std::int64_t{1} << 40;

/// A note that holds one number. Errors: FileError where it is missing, no number of this type, less than `least`, or more
/// than `most`.
template <class T>
T number_in(const Checkpoint& file, const std::string& name, T least,
            T most = std::is_unsigned_v<T> ? std::numeric_limits<T>::max() : most_counted<T>) {  // a seed may be any
  const std::string& text = file.note(name);
  T number{};
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || last != text.data() + text.size() || number < least || number > most)
    throw FileError("the file's note '" + name + "' is '" + text + "'");
  return number;
}

/// Averages as a note: count, weight, the weighted sums of the loss and of each metric, the sums of metrics' own weights;
/// and, where metrics have such, behind a semicolon which ones.
std::string exact_text(const Averages& averages);

/// Errors: FileError for a note that is missing, or is of samples and not of these metrics; null: of any.
Averages averages_in(const Checkpoint& file, const std::string& name, const MetricSet* metrics);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/notes.ipp>
#endif
