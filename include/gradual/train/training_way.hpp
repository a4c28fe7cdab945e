#pragma once
#include <gradual/autodiff/flops.hpp>
#include <gradual/train/compiled.hpp>

namespace gradual {

/// One way to train windows of a net, insofar as memory determines it.
struct TrainingWay {
  int kept = 100;                                  ///< percent of the activations stored for the backward pass
  std::int64_t global_batch = 0, micro_batch = 0;  ///< micro_batch: 0 where none fits
  std::int64_t flops = 0;                          ///< per sample, forward and backward
  std::int64_t flops_again = 0;                    ///< those of them that recompute activations
  MemoryTable memory;

  constexpr bool fits() const { return micro_batch > 0; }
  constexpr std::int64_t micro_batches() const { return (global_batch + micro_batch - 1) / micro_batch; }
  /// Returns the cost of a window in FLOP. Starting a micro-batch counts as `samples_per_start` samples; `fastest_micro_batch`
  /// measured between 2 and 8 for the benchmarks' nets.
  constexpr double cost() const {
    return static_cast<double>(flops) * static_cast<double>(global_batch + samples_per_start * micro_batches());
  }
  static constexpr std::int64_t samples_per_start = 5;
};

/// Returns how `Net` trains windows of `global_batch` samples in a budget: in micro-batches of `micro_batch`, or where that is
/// 0, in those that its session would choose. Errors: OptionError for a global batch that is not positive; ShapeError.
template <class Net, class Optimizer>
constexpr TrainingWay way_to_train(const Optimizer& optimizer, std::int64_t global_batch, Budget budget,
                                   const Planning& planning = {}, std::int64_t micro_batch = 0) {
  TrainingWay way;
  way.kept = Net::kept;
  way.global_batch = global_batch;
  way.flops = flops_per_sample<typename Net::Training>();
  way.flops_again = way.flops - flops_per_sample<typename Net::template Keeping<100>::Training>();
  const std::int64_t found = micro_batch > 0
                                 ? (micro_batch < global_batch ? micro_batch : global_batch)
                                 : Net::fitting_micro_batch(optimizer, global_batch, budget, Prefer::largest, planning);
  if (found == 0) return way;
  way.memory = Net::template window_memory<Optimizer>(found, global_batch, planning);
  if (way.memory.total() <= budget.bytes) way.micro_batch = found;
  return way;
}

/// Returns the cheapest way among several nets, by `TrainingWay::cost`; among equals, the first. Where none fits, returns that
/// of the last. Errors: as `way_to_train`.
template <class Optimizer, class... Nets>
constexpr TrainingWay cheapest_way(OneOf<Nets...>, const Optimizer& optimizer, std::int64_t global_batch, Budget budget,
                                   const Planning& planning = {}, std::int64_t micro_batch = 0) {
  TrainingWay best;
  const auto consider = [&](const TrainingWay& way) {
    if (!best.fits() || (way.fits() && way.cost() < best.cost())) best = way;
  };
  (consider(way_to_train<Nets>(optimizer, global_batch, budget, planning, micro_batch)), ...);
  return best;
}

}  // namespace gradual
