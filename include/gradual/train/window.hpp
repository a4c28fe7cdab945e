#pragma once
#include <limits>

#include <gradual/train/averages.hpp>
#include <gradual/train/session_options.hpp>

namespace gradual::detail {

/// Samples of a full window, the one after `steps` others.
inline std::int64_t window_samples(const SessionOptions& options, std::int64_t steps) {
  const double wanted = options.window_samples.at(steps);
  if (wanted == 0) return options.global_batch;
  if (!(wanted >= 1)) return 1;
  const double most = static_cast<double>(options.global_batch);
  return wanted < most ? static_cast<std::int64_t>(wanted + 0.5) : options.global_batch;
}

/// The weight that fills a window; infinite where windows are counted in samples alone.
inline double full_weight(const SessionOptions& options, std::int64_t steps) {
  const double wanted = options.window_weight.at(steps);
  return wanted > 0 ? wanted : std::numeric_limits<double>::infinity();
}

/// How many of `samples` samples, each of `unit` weights, belong to a window that has come to `window` and is full where
/// its weights sum to `full`. `weight` may be null, all ones.
inline std::int64_t samples_until_full(const Averages& window, double full, const float* weight, std::int64_t unit, std::int64_t samples) {
  double sum = window.weight();
  for (std::int64_t s = 0; s < samples; ++s) {
    for (std::int64_t i = s * unit; i < (s + 1) * unit; ++i) sum += weight == nullptr ? 1 : static_cast<double>(weight[i]);
    if (sum >= full) return s + 1;
  }
  return samples;
}

}  // namespace gradual::detail
