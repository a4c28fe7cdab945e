#pragma once
#include <functional>

#include <gradual/train/session_layout.hpp>
#include <gradual/train/session_options.hpp>

namespace gradual::detail {

/// The micro-batch of a session, and the memory that goes with it.
class SessionPlan {
 public:
  /// `options`: checked; a micro-batch of 0 is chosen for the budget. `counts_calls`: windows are not counted in samples.
  /// `frozen`: number of frozen parameter elements. Errors: MemoryError, ShapeError.
  SessionPlan(const SessionTables& tables, const SessionOptions& options, bool counts_calls, std::int64_t frozen);

  const SessionLayout& layout() const { return layout_; }
  const MemoryTable& table() const { return table_; }
  std::int64_t micro_batch() const { return layout_.micro_batch(); }

  /// Returns the micro-batch for another budget, with the same persistent memory. Errors: MemoryError.
  std::int64_t pick(Budget budget) const;
  /// Returns a micro-batch that needs half the transient bytes; 0 where there is none or memory does not decide.
  std::int64_t smaller() const;

  void set_micro_batch(std::int64_t micro_batch);
  /// Lets memory decide on the micro-batch from now on.
  void let_shrink() { shrinks_ = true; }

 private:
  std::int64_t total(const SessionLayout& layout) const { return layout.table(gather_, frozen_).total(); }

  SessionLayout first_layout(const SessionTables& tables, const SessionOptions& options) const;

  /// Refuses a budget in which no micro-batch fits, not even that of `least`. Errors: MemoryError, always.
  [[noreturn, gnu::cold]] void refuse(const SessionLayout& least, Budget budget) const;

  /// Whether parts of this size end on blocks, or there is memory for those that do not.
  bool allowed(std::int64_t micro_batch) const;
  std::int64_t fitting(Budget budget) const;
  /// Returns the micro-batch for a budget, where need(micro-batch) gives the bytes.
  std::int64_t fitting(const SessionTables& tables, Budget budget, const std::function<std::int64_t(std::int64_t)>& need) const;

  std::int64_t window_;  // in samples; 0: counted in calls
  std::int64_t most_;    // the given micro-batch, or the window
  bool shrinks_;         // memory decides on the micro-batch
  bool gather_;
  std::int64_t frozen_;
  Prefer prefer_;
  SessionLayout layout_;
  MemoryTable table_;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/session_plan.ipp>
#endif
