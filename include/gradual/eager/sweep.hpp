#pragma once
#include <gradual/eager/by_sample.hpp>
#include <gradual/eager/executor.hpp>

namespace gradual::eager {

/// Ops that compute sample by sample, and views that they read, run for a few samples at a time: what one op writes is
/// still in the cache when the next reads it. What only they read is not kept: it is noted, to be computed again if
/// someone asks for it.
class Executor::Sweep {
 public:
  /// `ids`: nodes in order, all of whose uses are outer ones.
  Sweep(Executor& executor, const Tape& tape, std::span<const int> ids);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  ~Sweep();

  /// Errors: MemoryError; everything is still noted then.
  void run();

 private:
  Value& at(int id) { return executor_.values_[id]; }
  static bool computes(const Node& node) { return !is_view(node.op->kind) && !shares_memory(node); }
  const void* sample(int id, const void* data, std::int64_t which) const;

  void take_memory();
  void run_samples(std::int64_t begin);
  /// Values are of the whole batch again.
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
