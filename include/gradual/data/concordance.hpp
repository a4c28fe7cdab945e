#pragma once
#include <cstddef>
#include <vector>

#include <gradual/data/scored_samples.hpp>

namespace gradual {

namespace detail {
struct TimedScore {
  double score, time;
  bool ended;
};
/// Computes the concordance of samples, which it sorts.
double concordance(std::vector<TimedScore>& samples);
[[noreturn, gnu::cold]] void refuse_concordance(std::size_t sample, double score, double time, double event);
}  // namespace detail

/// Returns the concordance of risk scores and right-censored times (Harrell et al. 1982): of all pairs in which one sample's
/// event is known to precede the other's, the share in which it has the larger score; equal scores count one half. An `event`
/// is 1 if it occurred at the sample's time and 0 if it had not occurred by then, which makes it later than an event at that
/// time; of two events at one time neither is earlier. Numbers of any type. Exact, in O(n log n). NaN without such a pair.
/// Errors: DataError for another number of times or events than scores, a score or time that is NaN, an event that is not 0
/// or 1.
template <class Scores, class Times, class Events>
double concordance(const Scores& scores, const Times& times, const Events& events) {
  if (std::size(scores) != std::size(times))
    detail::refuse_scores("concordance", std::size(scores), std::size(times), "times");
  if (std::size(scores) != std::size(events))
    detail::refuse_scores("concordance", std::size(scores), std::size(events), "events");
  std::vector<detail::TimedScore> samples;
  samples.reserve(std::size(scores));
  for (std::size_t i = 0; i < std::size(scores); ++i) {
    const auto score = static_cast<double>(scores[i]), time = static_cast<double>(times[i]);
    const auto event = static_cast<double>(events[i]);
    if (score != score || time != time || (event != 0 && event != 1)) detail::refuse_concordance(i, score, time, event);
    samples.push_back({score, time, event == 1});
  }
  return detail::concordance(samples);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/concordance.ipp>
#endif
