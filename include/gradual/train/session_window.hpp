#pragma once
#include <gradual/train/losses_ahead.hpp>
#include <gradual/train/session_arena.hpp>
#include <gradual/train/window_progress.hpp>

namespace gradual::detail {

/// The window that a compiled session has begun: the sums, in its arena, of the samples that it has taken, and their losses.
template <class Arena>
class SessionWindow {
  using Queue = typename Arena::Queue;
  using Real = typename Arena::Real;
  using Losses = FetchedLosses<Real>;

 public:
  static constexpr bool ahead = Queue::places > 1;  ///< whether the device works while the host goes on

  /// `options`: checked. `calls`, `twice`: as for `WindowProgress`; the rest as for the arena. Errors: as `Session`.
  SessionWindow(const SessionTables& tables, const typename Arena::Programs& programs, const SessionOptions& options,
                std::int64_t calls, bool twice, const InitialState& initial_state);

  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }
  WindowProgress& progress() { return progress_; }
  const WindowProgress& progress() const { return progress_; }
  std::int64_t last_part() const { return last_part_; }
  /// Whether what has failed may have been added in part: the window must be forgotten.
  bool is_lost() const { return lost_; }
  /// Whether a device that works ahead has checked the losses of all of its parts.
  bool losses_are_looked_at() const { return looked_at_; }

  /// Adds `part` samples that are bound. `last`: the window ends with them. Returns how many were taken or dropped: all, or
  /// those until the window's weight was reached. Errors: DeviceError; see `is_lost`.
  /// `round`, `samples`: the keys of random numbers.
  std::int64_t add(std::int64_t part, bool last, std::uint64_t round, const std::int32_t* samples);

  /// Requests the losses of bound samples, which begin at sample `first` of an evaluation. Learns nothing from them.
  Losses evaluate(std::int64_t part, std::int64_t first);

  /// Adds the losses of all parts except the last `left`, which may not have arrived.
  void take_losses(int left = 0) const { coming_.add_to(progress_.losses(), arena_.queue(), left); }
  /// Adds unfinished blocks to the sums, once; the window cannot be continued.
  void close_blocks();
  /// Forgets it.
  void clear();

  /// Continues from a state whose sums are in the arena.
  void resume(const WindowCounters& counters, bool closed);
  /// Derives values anew from changed parameters. A window does so as it begins, but this one may have begun already.
  void derive_again();
  /// Does so after an evaluation, which draws other numbers or none.
  void derive_for_training() {
    if (!derived_) derive_again();
  }
  /// Whether it has no unfinished block, or has added them.
  bool is_closed() const { return closed_; }

 private:
  /// Returns whether a part was added: it is undone, where that was asked for, if its gradients are not finite.
  bool add_gradients(const StepArguments& arguments);
  /// A window without samples has no sums to restore: the next part begins them.
  void undo();
  /// Handles a device that failed while a part was added.
  void undo_or_lose();

  /// Requests all of a part and waits only for the losses of the part before the last.
  std::int64_t add_ahead(const StepArguments& arguments);
  /// Counts a part that has been requested. Returns its number of samples.
  std::int64_t advance(const StepArguments& arguments);
  void measure_noise();

  /// Adds the losses of a part until the window is full, and returns the number of samples added.
  std::int64_t add_losses(Averages& sums, std::int64_t samples);
  /// `fetch`: as that of a queue.
  template <class F>
  Losses fetch_losses(std::int64_t samples, F fetch) const;
  const SessionTables& tables() const { return arena_.tables(); }
  void run(Phase which, const StepArguments& arguments) { arena_.queue().run(arena_.training(), which, arguments); }

  mutable WindowProgress progress_;  // losses arrive while it is read
  mutable LossesAhead<Real> coming_;
  bool undoes_, evaluates_drawing_, closed_ = true, lost_ = false, looked_at_ = false;
  bool derived_ = true;  // for training, since the last evaluation and change of parameters
  std::int64_t last_part_ = 0;  // samples last given to kernels
  Arena arena_;
};

}  // namespace gradual::detail

#include <gradual/train/session_window.ipp>

#ifdef GRADUAL_SHARED_KERNELS
namespace gradual::detail {
extern template class SessionWindow<SessionArena<Cpu, float, float>>;
}
#endif
