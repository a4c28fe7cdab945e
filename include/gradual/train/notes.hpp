#pragma once
#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include <gradual/train/averages.hpp>
#include <gradual/train/checkpoint.hpp>

namespace gradual::detail {

/// A number as text that is read back exactly, NaN and infinities included.
template <class T>
std::string exact_text(T number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

/// More of anything than can be counted in a run, and so few that sums of some are numbers too.
template <class T>
inline constexpr T most_counted = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                                              : std::numeric_limits<T>::max() / 4;

/// A note that holds one number. Errors: FileError where it is missing, no number of this type, less than `least`, or more
/// than can be counted.
template <class T>
T number_in(const Checkpoint& file, const std::string& name, T least) {
  const std::string& text = file.note(name);
  T number{};
  const T most = std::is_unsigned_v<T> ? std::numeric_limits<T>::max() : most_counted<T>;  // a seed may be any
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || last != text.data() + text.size() || number < least || number > most)
    throw FileError("the file's note '" + name + "' is '" + text + "'");
  return number;
}

/// Averages as a note: count, weight, the weighted sums of the loss and of each metric, the sums of metrics' own weights; and
/// behind a semicolon which these are, where there are any.
inline std::string exact_text(const Averages& averages) {
  std::string text = exact_text(averages.count()) + ' ' + exact_text(averages.weight());
  for (const double sum : averages.sums()) text += ' ' + exact_text(sum);
  if (averages.metrics().own != 0) text += ';' + exact_text(averages.metrics().own);
  return text;
}

/// Errors: FileError for a note that is missing, or is of samples and not of these metrics; null: of any.
inline Averages averages_in(const Checkpoint& file, const std::string& name, const MetricSet* metrics) {
  const std::string& text = file.note(name);
  const std::size_t semicolon = std::min(text.find(';'), text.size());
  unsigned own = 0;
  if (semicolon < text.size()) std::from_chars(text.data() + semicolon + 1, text.data() + text.size(), own);
  const char *at = text.data(), *const end = at + semicolon;
  std::int64_t count = 0;
  const auto first = std::from_chars(at, end, count);
  bool good = first.ec == std::errc{};
  std::vector<double> numbers;
  for (at = first.ptr; good && at != end;) {
    const auto [last, error] = std::from_chars(at + 1, end, numbers.emplace_back());
    good = *at == ' ' && error == std::errc{};
    at = last;
  }
  const MetricSet theirs(static_cast<int>(numbers.size()) - 2 - std::popcount(own), own);
  good = good && count >= 0 && count <= most_counted<std::int64_t> && theirs.count >= 0 && theirs.count <= max_metrics &&
         (own >> theirs.count) == 0;
  if (!good || (metrics != nullptr && count > 0 && theirs != *metrics))
    throw FileError("the file's note '" + name + "' is not of a loss and " +
                    (metrics == nullptr ? "some" : std::to_string(metrics->count)) + " metrics: '" + text + "'");
  if (count == 0) return Averages(metrics == nullptr ? MetricSet() : *metrics);
  return {theirs, std::span(numbers).subspan(1), numbers[0], count};
}

}  // namespace gradual::detail
