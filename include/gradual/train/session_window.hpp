#pragma once
#include <gradual/train/losses_ahead.hpp>
#include <gradual/train/session_arena.hpp>
#include <gradual/train/window_progress.hpp>

namespace gradual::detail {

/// The window that a compiled session has begun: in its arena the sums of the samples that it has taken, and their
/// losses.
template <class Arena>
class SessionWindow {
  using Queue = typename Arena::Queue;
  using Real = typename Arena::Real;
  using Losses = FetchedLosses<Real>;

 public:
  static constexpr bool ahead = Queue::places > 1;  ///< the device works while the host goes on

  /// `options`: checked. `calls`, `twice`: as those of `WindowProgress`; the rest as of the arena. Errors: as `Session`.
  SessionWindow(const SessionTables& tables, const typename Arena::Programs& programs, const SessionOptions& options,
                std::int64_t calls, bool twice, const InitialState& initial_state);

  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }
  WindowProgress& progress() { return progress_; }
  const WindowProgress& progress() const { return progress_; }
  std::int64_t last_part() const { return last_part_; }
  /// Whether a part has failed of which some may have been added: the window must be forgotten.
  bool is_lost() const { return lost_; }
  /// Whether a device that works ahead has looked at the losses of all of its parts.
  bool losses_are_looked_at() const { return looked_at_; }

  /// Adds `part` samples that are bound. `last`: the window ends with them. Returns how many were taken or dropped:
  /// all, or those until the window's weight was reached. Errors: DeviceError; see `is_lost`.
  /// `round`, `samples`: what random numbers are keyed by.
  std::int64_t add(std::int64_t part, bool last, std::uint64_t round, const std::int32_t* samples);

  /// Asks for the losses of samples that are bound, from `first` of those that are evaluated. Nothing is learned.
  Losses evaluate(std::int64_t part, std::int64_t first);

  /// Adds the losses of all parts but the last `left`, which may not have come.
  void take_losses(int left = 0) const { coming_.add_to(progress_.losses(), arena_.queue(), left); }
  /// Adds unfinished blocks to the sums, once; the window cannot be continued.
  void close_blocks();
  /// Forgets it.
  void clear();

  /// Goes on from a state, whose sums are in the arena.
  void resume(const WindowCounters& counters, bool closed);
  /// The parameters are others. What is derived of them is made where a window begins, and this one may have begun.
  void derive_again();
  /// The same after an evaluation, which draws nothing, or other numbers.
  void derive_for_training() {
    if (!evaluated_) return;
    derive_again();
    evaluated_ = false;
  }
  /// Whether it has no unfinished block, or has been told to add them.
  bool is_closed() const { return closed_; }

 private:
  /// Returns whether a part was added: it is undone where its gradients are not finite, if that was asked for.
  bool add_gradients(const StepArguments& arguments);
  /// A window without samples has no sums: the next part begins them.
  void undo();
  /// The device failed while a part was added.
  void undo_or_lose();

  /// Asks for all of a part and waits for none of it, but for the losses of the part before the last.
  std::int64_t add_ahead(const StepArguments& arguments);
  /// Counts a part that has been asked for. Returns its samples.
  std::int64_t advance(const StepArguments& arguments);
  void measure_noise();

  /// Adds those of a part until the window is full, and returns how many samples these are.
  std::int64_t add_losses(Averages& sums, std::int64_t samples);
  /// `fetch`: as a queue's.
  template <class F>
  Losses fetch_losses(std::int64_t samples, F fetch) const;
  const SessionTables& tables() const { return arena_.tables(); }
  void run(Phase which, const StepArguments& arguments) { arena_.queue().run(arena_.training(), which, arguments); }

  mutable WindowProgress progress_;  // losses come while it is looked at
  mutable LossesAhead<Real> coming_;
  bool undoes_, evaluates_drawing_, closed_ = true, lost_ = false, looked_at_ = false;
  bool evaluated_ = false;  // since parameters were last derived from for training
  std::int64_t last_part_ = 0;  // samples that kernels were given
  Arena arena_;
};

}  // namespace gradual::detail

#include <gradual/train/session_window.ipp>

#ifdef GRADUAL_SHARED_KERNELS
namespace gradual::detail {
extern template class SessionWindow<SessionArena<Cpu, float, float>>;
}
#endif
