#pragma once
#include <cstdio>
#include <iosfwd>
#include <string>
#include <vector>

#include <gradual/core/number_text.hpp>
#include <gradual/train/training_way.hpp>

namespace gradual {

namespace detail {

/// Returns bytes by category, one column per table; `head`: the cells of the first line.
std::string memory_columns(const std::vector<std::string>& head, const std::vector<MemoryTable>& tables);

}  // namespace detail

/// Returns a table of a session's bytes by category, one column per micro-batch. Errors: as `training_memory`.
template <class Net, class Optimizer>
std::string memory_by_batch(const Optimizer& optimizer, const std::vector<std::int64_t>& micro_batches,
                            const Planning& planning = {}) {
  std::vector<std::string> head{"micro-batch"};
  std::vector<MemoryTable> tables;
  for (const std::int64_t batch : micro_batches) {
    head.push_back(detail::grouped(batch));
    tables.push_back(Net::training_memory(optimizer, batch, planning));
  }
  return detail::memory_columns(head, tables);
}

/// Does the same for one micro-batch, one column per type that can hold a window's sums; only double where the net is.
template <class Net, class Inner>
std::string memory_by_shadow(const Accumulate<Inner>& optimizer, std::int64_t micro_batch,
                             const Planning& planning = {}) {
  using Pair = Compensated<float>;
  if constexpr (std::is_same_v<typename Net::Real, double>)
    return detail::memory_columns({"sums in", shadow_name<double>}, {Net::training_memory(optimizer, micro_batch, planning)});
  else return detail::memory_columns({"sums in", shadow_name<float>, shadow_name<double>, shadow_name<Pair>},
                                {Net::training_memory(optimizer, micro_batch, planning),
                                 Net::training_memory(optimizer.template in<double>(), micro_batch, planning),
                                 Net::training_memory(optimizer.template in<Pair>(), micro_batch, planning)});
}

/// Prints it as "micro-batches of 39 of 512, 260 928 B".
std::ostream& operator<<(std::ostream& out, const TrainingWay& way);

/// Returns a table of the ways to train windows of these sizes in a budget: for each size one line per net, with an arrow at
/// the cheapest; cost is relative to that of the first net without a budget. Errors: as `way_to_train`.
template <class Optimizer, class First, class... Rest>
std::string ways_to_train(OneOf<First, Rest...> nets, const Optimizer& optimizer, Budget budget,
                          const std::vector<std::int64_t>& global_batches,
                          const Planning& planning = {}) {
  std::string text = "window   kept  micro-batches  FLOP again per sample   cost            bytes\n";
  for (const std::int64_t window : global_batches) {
    const double least = way_to_train<First>(optimizer, window, {}, planning).cost();
    const TrainingWay best = cheapest_way(nets, optimizer, window, budget, planning);
    const auto print = [&](const TrainingWay& way) {
      char line[160];
      if (!way.fits()) {
        std::snprintf(line, sizeof(line), "%6lld  %4d%%  do not fit\n", static_cast<long long>(window), way.kept);
      } else {
        const double again = 100 * static_cast<double>(way.flops_again) / static_cast<double>(way.flops);
        std::snprintf(line, sizeof(line), "%6lld  %4d%%  %5lld x %5lld %18s (%2s%%) %6s %16s%s\n",
                      static_cast<long long>(window), way.kept, static_cast<long long>(way.micro_batches()),
                      static_cast<long long>(way.micro_batch), detail::grouped(way.flops_again).c_str(),
                      detail::fixed_text(again, 0).c_str(), detail::fixed_text(way.cost() / least, 2).c_str(),
                      detail::grouped(way.memory.total()).c_str(), way.kept == best.kept ? "  <-" : "");
      }
      text += line;
    };
    print(way_to_train<First>(optimizer, window, budget, planning));
    (print(way_to_train<Rest>(optimizer, window, budget, planning)), ...);
  }
  return text;
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/print_plan.ipp>
#endif
