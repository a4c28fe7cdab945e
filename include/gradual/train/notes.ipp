#pragma once
#include <gradual/train/notes.hpp>

#include <algorithm>
#include <bit>
#include <vector>

namespace gradual::detail {

GRADUAL_ONCE void check_is_state(const Checkpoint& file, bool of_trainer) {
  if (!file.notes.contains("training state"))
    throw FileError("the file is not a state, as save_state writes it; load_parameters reads files of "
                    "parameters" + file.what_it_holds());
  if (of_trainer && !file.notes.contains("epoch"))
    throw FileError("the file is a session's state, which trainer.session().load_state reads, not a trainer's");
}

GRADUAL_ONCE std::string exact_text(const Averages& averages) {
  std::string text = exact_text(averages.count()) + ' ' + exact_text(averages.weight());
  for (const double sum : averages.sums()) text += ' ' + exact_text(sum);
  if (averages.metrics().own != 0) text += ';' + exact_text(averages.metrics().own);
  if (const auto& [weight, place] = averages.negative(); weight < 0) text += '!' + exact_text(place) + ' ' + exact_text(weight);
  return text;
}

GRADUAL_ONCE Averages averages_in(const Checkpoint& file, const std::string& name, const MetricSet* metrics) {
  const std::string& text = file.note(name);
  const std::size_t negative = std::min(text.find('!'), text.size()), semicolon = std::min(text.find(';'), negative);
  unsigned own = 0;
  if (semicolon < negative) std::from_chars(text.data() + semicolon + 1, text.data() + negative, own);
  Averages::NegativeWeight below;
  bool good = negative == text.size();
  if (const char* const stop = text.data() + text.size(); !good) {
    const auto place = std::from_chars(text.data() + negative + 1, stop, below.place);
    if (place.ec == std::errc{} && place.ptr != stop && *place.ptr == ' ') {
      const auto weight = std::from_chars(place.ptr + 1, stop, below.weight);
      good = weight.ec == std::errc{} && weight.ptr == stop && below.weight < 0 && below.place >= 0;
    }
  }
  const char *at = text.data(), *const end = at + semicolon;
  std::int64_t count = 0;
  const auto first = std::from_chars(at, end, count);
  good = good && first.ec == std::errc{};
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
    throw FileError("the file's note '" + name + "' does not hold a loss and " +
                    (metrics == nullptr ? "some" : std::to_string(metrics->count)) + " metrics: '" + text + "'");
  if (count == 0) return Averages(metrics == nullptr ? MetricSet() : *metrics);
  return {theirs, std::span(numbers).subspan(1), numbers[0], count, below};
}

}  // namespace gradual::detail
