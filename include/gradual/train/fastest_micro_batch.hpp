#pragma once
#include <algorithm>
#include <iosfwd>
#include <tuple>

#include <gradual/core/philox.hpp>
#include <gradual/core/stopwatch.hpp>
#include <gradual/train/session.hpp>

namespace gradual {

/// The time per sample in micro-batches of one size, including its share of the window's update.
struct MicroBatchSpeed {
  std::int64_t micro_batch = 0, bytes = 0;  ///< bytes: of the whole session
  double seconds_per_sample = 0;
};

/// The measurements, by rising micro-batch, and the choice.
struct MicroBatchSpeeds {
  std::vector<MicroBatchSpeed> curve;
  MicroBatchSpeed chosen;
};

namespace detail {
/// Returns the fastest of each size, the first among equals, and the choice. `measured`: by size; sizes without are left out.
MicroBatchSpeeds fastest_of(const std::vector<std::vector<MicroBatchSpeed>>& measured);
}  // namespace detail

/// Returns the smallest micro-batch that takes at most `slack` more time per sample than the fastest of the curve.
/// Errors: OptionError for a curve without points.
MicroBatchSpeed smallest_fast(std::span<const MicroBatchSpeed> curve, double slack = 0.03);

std::ostream& operator<<(std::ostream& out, const MicroBatchSpeeds& speeds);

namespace detail {

/// Returns samples that any net accepts: numbers in (0, 1), labels of class 0.
template <class T>
std::vector<std::remove_all_extents_t<T>> made_up_samples(std::int64_t count) {
  using E = std::remove_all_extents_t<T>;
  std::vector<E> values(static_cast<std::size_t>(count * sample_shape<T>().unit()));
  if constexpr (!std::is_integral_v<E>)
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<E>((uniform<Computed<E>>(0, 0, i) + Computed<E>(0.5)) / 2);
  return values;
}

/// Returns the seconds per sample of a session that is made for this measurement alone.
template <class Net, class Optimizer, class... Span>
MicroBatchSpeed measured_speed(const Optimizer& optimizer, const SessionOptions& options, const Span&... data) {
  constexpr double least_seconds = 2e-3;
  constexpr int cold = Net::Backend::Queue::places > 1 ? 4 : 1;  // windows with cold caches, or that a device records
  Session session(Net{}, optimizer, options);
  for (int window = 0; window < cold; ++window) session.accumulate(data...);
  session.wait();
  const Stopwatch watch;
  int windows = 0;
  do session.accumulate(data...), ++windows;
  while (watch.seconds() < least_seconds);
  session.wait();
  return {options.micro_batch, session.memory().total(),
          watch.seconds() / static_cast<double>(windows * session.options().global_batch)};
}

template <class Net, class Optimizer, class... T>
MicroBatchSpeeds measured_speeds(const Optimizer& optimizer, SessionOptions options, int rounds, Inputs<T...>) {
  options = Session(Net{}, optimizer, options).options();  // the largest micro-batch that fits
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size < options.micro_batch; size *= 2) sizes.push_back(size);
  sizes.push_back(options.micro_batch);
  const std::tuple data{made_up_samples<T>(options.global_batch)...};
  std::vector<std::vector<MicroBatchSpeed>> times(sizes.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < sizes.size(); ++i) try {
        options.micro_batch = sizes[i];
        times[i].push_back(std::apply(
            [&](const auto&... x) { return measured_speed<Net>(optimizer, options, std::span(x)...); }, data));
      } catch (const MemoryError&) {  // a smaller one may need more: memory for open blocks
      }
  return fastest_of(times);
}

}  // namespace detail

/// Measures on this machine how fast a net learns in micro-batches of 1, 2, 4, ... samples, up to the largest that the options
/// allow, and chooses the smallest within 3% of the best, since larger ones only need more memory. Uses made-up samples, in one
/// session after another, each within the options' budget, in interleaved rounds, of which the fastest counts. Bits never
/// depend on the choice. Errors: as `Session`.
template <class Net, class Optimizer>
MicroBatchSpeeds fastest_micro_batch(Net, const Optimizer& optimizer, const SessionOptions& options,
                                     int rounds = 7) {
  if constexpr (detail::holds_opaque<detail::HeldBy<Optimizer>>) {
    using Opaque = typename detail::Traced<detail::HeldBy<Optimizer>>::Opaque;
    static_assert(std::is_same_v<std::unwrap_reference_t<Opaque>, Opaque>,
                  "fastest_micro_batch: it would step the optimizer that you refer to: give a copy of it");
  }
  return detail::measured_speeds<Net>(optimizer, options, std::max(rounds, 1), typename Net::InputTypes{});
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/fastest_micro_batch.ipp>
#endif
