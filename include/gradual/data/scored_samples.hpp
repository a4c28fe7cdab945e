#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace gradual::detail {

/// The score of each sample and its weight, which is negative for negative samples.
template <class Weight>
using ScoredSamples = std::vector<std::pair<double, Weight>>;

[[noreturn, gnu::cold]] void refuse_scores(const char* asked, std::size_t scores, std::size_t others, const char* what);
[[noreturn, gnu::cold]] void refuse_scores(const char* asked, std::size_t sample, double score, double label, double weight);

/// Pairs scores with signed weights. Errors, in the name of the function `asked`: DataError for different numbers of scores and
/// labels, a score that is NaN, a label that is not 0 or 1, or a weight that is negative, infinite or NaN.
template <class Weight, class Scores, class Labels, class WeightOf>
ScoredSamples<Weight> scored_samples(const char* asked, const Scores& scores, const Labels& labels, WeightOf weight_of) {
  if (std::size(scores) != std::size(labels)) refuse_scores(asked, std::size(scores), std::size(labels), "labels");
  ScoredSamples<Weight> samples;
  samples.reserve(std::size(scores));
  for (std::size_t i = 0; i < std::size(scores); ++i) {
    const auto score = static_cast<double>(scores[i]), label = static_cast<double>(labels[i]);
    const Weight weight = weight_of(i);
    if (score != score || (label != 0 && label != 1) || !(weight >= 0 && weight - weight == 0))
      refuse_scores(asked, i, score, label, static_cast<double>(weight));
    samples.emplace_back(score, label == 1 ? weight : -weight);
  }
  return samples;
}
/// The same with the weights in a range. Errors: also DataError for a different number of weights.
template <class Scores, class Labels, class Weights>
ScoredSamples<double> weighted_samples(const char* asked, const Scores& scores, const Labels& labels, const Weights& weights) {
  if (std::size(scores) != std::size(weights)) refuse_scores(asked, std::size(scores), std::size(weights), "weights");
  return scored_samples<double>(asked, scores, labels, [&](std::size_t i) { return static_cast<double>(weights[i]); });
}

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/scored_samples.ipp>
#endif
