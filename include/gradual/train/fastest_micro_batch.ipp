#pragma once
#include <gradual/train/fastest_micro_batch.hpp>

#include <cstdio>
#include <limits>
#include <ostream>

#include <gradual/core/number_text.hpp>

namespace gradual::detail {

/// Returns the fastest of some; the first among equals.
inline const MicroBatchSpeed& fastest(std::span<const MicroBatchSpeed> speeds) {
  const MicroBatchSpeed* best = speeds.data();
  for (const MicroBatchSpeed& speed : speeds)
    if (speed.seconds_per_sample < best->seconds_per_sample) best = &speed;
  return *best;
}

GRADUAL_ONCE MicroBatchSpeeds fastest_of(const std::vector<std::vector<MicroBatchSpeed>>& measured) {
  MicroBatchSpeeds result;
  for (const std::vector<MicroBatchSpeed>& of_size : measured)
    if (!of_size.empty()) result.curve.push_back(fastest(of_size));
  result.chosen = smallest_fast(result.curve);
  return result;
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE MicroBatchSpeed smallest_fast(std::span<const MicroBatchSpeed> curve, double slack) {
  if (curve.empty()) throw OptionError("smallest_fast: nothing was measured");
  const double best = detail::fastest(curve).seconds_per_sample;
  MicroBatchSpeed chosen{.micro_batch = std::numeric_limits<std::int64_t>::max()};
  for (const MicroBatchSpeed& point : curve)
    if (point.seconds_per_sample <= best * (1 + slack) && point.micro_batch < chosen.micro_batch) chosen = point;
  return chosen;
}

GRADUAL_ONCE std::ostream& operator<<(std::ostream& out, const MicroBatchSpeeds& speeds) {
  out << "micro-batch  ns per sample  of the best            bytes\n";
  double best = std::numeric_limits<double>::infinity();
  for (const MicroBatchSpeed& point : speeds.curve) best = std::min(best, point.seconds_per_sample);
  for (const MicroBatchSpeed& point : speeds.curve) {
    char line[100];
    std::snprintf(line, sizeof(line), "%11lld %14s %12s %16s%s\n", static_cast<long long>(point.micro_batch),
                  detail::fixed_text(1e9 * point.seconds_per_sample, 0).c_str(),
                  detail::fixed_text(point.seconds_per_sample / best, 2).c_str(), detail::grouped(point.bytes).c_str(),
                  point.micro_batch == speeds.chosen.micro_batch ? "  <- chosen" : "");
    out << line;
  }
  return out;
}

}  // namespace gradual
