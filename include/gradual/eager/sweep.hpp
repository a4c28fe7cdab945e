#pragma once
#include <gradual/eager/by_sample.hpp>
#include <gradual/eager/executor.hpp>

namespace gradual::eager {

/// Ops that compute sample by sample, and the views that they read, run for a few samples at a time, so that one op's results
/// are still in the cache when the next reads them. Values that only they read are not kept but noted, to be computed again on
/// demand.
class Executor::Sweep {
 public:
  /// `ids`: nodes in order, whose `outer_uses` still count all their uses.
  Sweep(Executor& executor, const Tape& tape, std::span<const int> ids);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  ~Sweep();

  /// Errors: MemoryError, after which everything is still noted.
  void run();

 private:
  Value& at(int id) { return executor_.values_[id]; }
  static bool computes(const Node& node) { return !is_view(node.op->kind) && !shares_memory(node); }
  const void* sample(int id, const void* data, std::int64_t which) const;

  void take_memory();
  void run_samples(std::int64_t begin);
  /// Makes values those of the whole batch again.
  void stop();

  Executor& executor_;
  const Tape& tape_;
  std::span<const int> ids_;
  std::int64_t batch_, together_ = 1;
  bool finished_ = false;
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/sweep.ipp>
#endif
