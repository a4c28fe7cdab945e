#pragma once
#include <cstdio>
#include <gradual/core/grouped.hpp>
#include <gradual/train/training_way.hpp>
#include <string>
#include <vector>

namespace gradual {

/// A table of a session's bytes by category, one column for each micro-batch. Errors: as `training_memory`.
template <class Net, class Optimizer>
[[gnu::cold]] std::string memory_by_batch(const Optimizer& optimizer, const std::vector<std::int64_t>& micro_batches,
                                          const Planning& planning = {}) {
  struct Row {
    const char* name;
    std::int64_t (*bytes)(const MemoryTable&);
  };
  static constexpr Row rows[] = {
      {"parameters", [](const MemoryTable& t) { return t.parameters; }},
      {"gradients", [](const MemoryTable& t) { return t.gradients; }},
      {"open blocks", [](const MemoryTable& t) { return t.open_blocks; }},
      {"optimizer state", [](const MemoryTable& t) { return t.optimizer_state; }},
      {"derived", [](const MemoryTable& t) { return t.derived; }},
      {"inputs", [](const MemoryTable& t) { return t.inputs; }},
      {"activations", [](const MemoryTable& t) { return t.transient() - t.inputs - t.workspace; }},
      {"workspace", [](const MemoryTable& t) { return t.workspace; }},
      {"total", [](const MemoryTable& t) { return t.total(); }}};
  const auto line = [&](const char* name, auto number) {
    char cell[40];
    std::snprintf(cell, sizeof(cell), "%-16s", name);
    std::string text = cell;
    for (const std::int64_t batch : micro_batches) {
      std::snprintf(cell, sizeof(cell), " %14s", detail::grouped(number(batch)).c_str());
      text += cell;
    }
    return text + "\n";
  };
  std::string text = line("micro-batch", [](std::int64_t batch) { return batch; });
  for (const Row& row : rows)
    text +=
        line(row.name, [&](std::int64_t batch) { return row.bytes(Net::training_memory(optimizer, batch, planning)); });
  return text;
}

/// A table of the ways to train windows of these sizes in a budget: for each size one line for each net that fits, the
/// cheapest with an arrow; cost is relative to that of the first net without a budget. Errors: as `way_to_train`.
template <class Optimizer, class First, class... Rest>
[[gnu::cold]] std::string ways_to_train(OneOf<First, Rest...> nets, const Optimizer& optimizer, Budget budget,
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
        std::snprintf(line, sizeof(line), "%6lld  %4d%%  %5lld x %5lld %18s (%2.0f%%) %6.2f %16s%s\n",
                      static_cast<long long>(window), way.kept, static_cast<long long>(way.micro_batches()),
                      static_cast<long long>(way.micro_batch), detail::grouped(way.flops_again).c_str(), again,
                      way.cost() / least, detail::grouped(way.memory.total()).c_str(),
                      way.kept == best.kept ? "  <-" : "");
      }
      text += line;
    };
    print(way_to_train<First>(optimizer, window, budget, planning));
    (print(way_to_train<Rest>(optimizer, window, budget, planning)), ...);
  }
  return text;
}

}  // namespace gradual
