#pragma once
#include <cstddef>
#include <vector>

namespace gradual {

namespace detail {
struct TimedScore {
  double score, time;
  bool ended;
};
/// Sorts them.
double concordance(std::vector<TimedScore>& samples);
[[noreturn, gnu::cold]] void refuse_concordance(std::size_t scores, std::size_t others, const char* what);
[[noreturn, gnu::cold]] void refuse_concordance(std::size_t sample, double score, double time, double event);
}  // namespace detail

/// The concordance of risks and times, some of which are known from below alone (Harrell et al. 1982): of all pairs in which an
/// event is known to have come earlier than the other's, the share in which its score is the larger one, where equal scores
/// count one half. An `event` is 1 where it came at the sample's time and 0 where it had not come until then, so that it is
/// later than one at that time; of two events at one time neither is earlier. Numbers of any type. Exact, in O(n log n). NaN
/// of no such pair.
/// Errors: DataError for another number of times or events than scores, a score or time that is NaN, an event that is not 0
/// or 1.
template <class Scores, class Times, class Events>
double concordance(const Scores& scores, const Times& times, const Events& events) {
  if (std::size(scores) != std::size(times)) detail::refuse_concordance(std::size(scores), std::size(times), "times");
  if (std::size(scores) != std::size(events)) detail::refuse_concordance(std::size(scores), std::size(events), "events");
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
