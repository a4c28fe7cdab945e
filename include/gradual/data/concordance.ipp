#pragma once
#include <gradual/data/concordance.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include <gradual/core/error.hpp>
#include <gradual/core/math/bits.hpp>
#include <gradual/core/number_text.hpp>

namespace gradual::detail {

/// Counts the scores added so far that are below a score or equal to it (Fenwick 1994).
class ScoresSoFar {
 public:
  explicit ScoresSoFar(std::size_t places) : sums_(places + 1), count_(places) {}
  void add(std::size_t place) {
    ++count_[place];
    for (std::size_t i = place + 1; i < sums_.size(); i += i & (~i + 1)) ++sums_[i];
  }
  std::int64_t below(std::size_t place) const {
    std::int64_t sum = 0;
    for (std::size_t i = place; i > 0; i -= i & (~i + 1)) sum += sums_[i];
    return sum;
  }
  std::int64_t equal(std::size_t place) const { return count_[place]; }

 private:
  std::vector<std::int64_t> sums_, count_;
};

GRADUAL_ONCE double concordance(std::vector<TimedScore>& samples) {
  std::vector<double> scores;
  for (const TimedScore& sample : samples) scores.push_back(sample.score);
  std::ranges::sort(scores);
  // Latest first; at equal times, those whose event had not occurred.
  std::ranges::sort(samples, [](const TimedScore& a, const TimedScore& b) {
    return a.time != b.time ? a.time > b.time : a.ended < b.ended;
  });
  ScoresSoFar later(scores.size());
  const auto place = [&](const TimedScore& sample) {
    return static_cast<std::size_t>(std::ranges::lower_bound(scores, sample.score) - scores.begin());
  };
  std::int64_t twice_right = 0, pairs = 0, seen = 0;
  for (auto at = samples.begin(); at != samples.end();) {
    auto end = at;  // of the samples with events at one time, or of one without event
    do ++end;
    while (at->ended && end != samples.end() && end->time == at->time);
    for (auto i = at; i != end && i->ended; ++i) {
      twice_right += 2 * later.below(place(*i)) + later.equal(place(*i));
      pairs += seen;
    }
    seen += end - at;
    for (; at != end; ++at) later.add(place(*at));
  }
  return pairs == 0 ? math::quiet_nan<double>() : static_cast<double>(twice_right) / (2 * static_cast<double>(pairs));
}

GRADUAL_ONCE void refuse_concordance(std::size_t sample, double score, double time, double event) {
  throw DataError("concordance: sample " + std::to_string(sample) + ": " +
                  (score != score ? "a score that is NaN"
                   : time != time ? "a time that is NaN"
                                  : "event " + brief_text(event) + ", which is not 0 or 1"));
}

}  // namespace gradual::detail
