#pragma once
#include <gradual/data/scored_samples.hpp>

namespace gradual {

namespace detail {
/// Computes the area; sorts the samples and scales their weights.
double average_precision(ScoredSamples<double>& samples);
}  // namespace detail

/// Returns the area under the curve of precision by recall, like scikit-learn's `average_precision_score`: the mean, over the
/// positive samples, of the precision if all samples that score at least as high are taken for positive. A score that knows
/// nothing gets the share of positives. One score per sample and a label of 0 or 1, as numbers of any type; in O(n log n). NaN
/// if no sample is positive.
/// Errors: DataError for another number of scores than labels, a score that is NaN or another label.
template <class Scores, class Labels>
double average_precision(const Scores& scores, const Labels& labels) {
  auto samples = detail::scored_samples<double>("average_precision", scores, labels, [](std::size_t) { return 1.0; });
  return detail::average_precision(samples);
}
/// The same with a weight of at least 0 per sample. NaN also if all positive samples have a weight of 0. Errors: also DataError
/// for another number of weights, or one that is negative, infinite or NaN.
template <class Scores, class Labels, class Weights>
double average_precision(const Scores& scores, const Labels& labels, const Weights& weights) {
  auto samples = detail::weighted_samples("average_precision", scores, labels, weights);
  return detail::average_precision(samples);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/average_precision.ipp>
#endif
