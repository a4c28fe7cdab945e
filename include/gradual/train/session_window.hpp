#pragma once
#include <gradual/train/losses_ahead.hpp>
#include <gradual/train/session_arena.hpp>
#include <gradual/train/window_progress.hpp>

namespace gradual::detail {

/// The window that a compiled session has begun: in its arena the sums of the samples that it has taken, and their
/// losses.
template <class Arena>
class SessionWindow {
  using Training = typename Arena::Training;
  using Queue = typename Arena::Backend::Queue;
  using Losses = FetchedLosses<typename Arena::Real>;
  static constexpr bool ahead = Queue::places > 1;  ///< the device works while the host goes on

 public:
  static constexpr MetricSet metrics = MetricSet::of<Training>();

  /// `options`: checked. `calls`: as those of `WindowProgress`. Errors: as `Session`.
  template <class Rule>
  [[gnu::cold]] SessionWindow(const SessionOptions& options, const Rule& rule, std::int64_t calls)
      : progress_(options, calls, evaluates_twice<Rule>, metrics),
        undoes_(options.non_finite == NonFinite::drop_micro_batch),
        arena_(options, rule, calls != 0 || windows_vary(options)) {}

  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }
  WindowProgress& progress() { return progress_; }
  const WindowProgress& progress() const { return progress_; }
  std::int64_t last_part() const { return last_part_; }
  /// Whether a part has failed of which some may have been added: the window must be forgotten.
  bool is_lost() const { return lost_; }

  /// Adds `part` samples that are bound. `last`: the window ends with them. Returns how many were taken or dropped:
  /// all, or those until the window's weight was reached. Errors: DeviceError; see `is_lost`.
  std::int64_t add(std::int64_t part, bool last, Randomness random) {
    const std::int64_t position = random.begin = progress_.position();
    StepArguments arguments = arena_.arguments(part, position, position == 0, last);
    arguments.random = random;
    if constexpr (ahead)
      if (!undoes_ && !progress_.ends_at_weight()) return add_ahead(arguments);
    take_losses();
    if (position == 0) arena_.queue().template run<Training, Phase::prologue>(arguments);
    arena_.queue().template run<Training, Phase::forward>(arguments);
    Averages losses = progress_.losses();
    arguments.batch = add_losses(losses, part);
    arguments.last = last || losses.weight() >= progress_.full_weight();
    if ((undoes_ && !losses.finite()) || !add_gradients(arguments)) {
      progress_.drop(arguments.batch);
      return arguments.batch;
    }
    progress_.losses() = losses;
    return advance(arguments);
  }

  /// Adds the losses of samples that are bound to `sums`, once they have come: some of `coming` have not. Nothing is
  /// learned.
  void evaluate(std::int64_t part, bool first, Averages& sums, LossesAhead<typename Arena::Real>& coming) {
    const StepArguments arguments = arena_.arguments(part, progress_.position(), first, false);
    arena_.queue().template run<Training, Phase::prologue>(arguments);
    arena_.queue().template run<Training, Phase::forward>(arguments);
    coming.push(fetch_losses(part, [&](auto... arrays) { return arena_.queue().fetch(arrays...); }));
    coming.add_to(sums, arena_.queue(), Queue::places - 1);
  }

  /// Adds the losses of all parts but the last `left`, which may not have come.
  void take_losses(int left = 0) const { coming_.add_to(progress_.losses(), arena_.queue(), left); }
  /// Adds unfinished blocks to the sums, once; the window cannot be continued.
  void close_blocks() {
    if (closed_) return;
    closed_ = true;
    arena_.close_blocks(progress_.position());
  }
  /// Forgets it.
  void clear() {
    coming_.forget();
    progress_.clear();
    arena_.hold_rows_from(0);
    closed_ = true;
    lost_ = false;
  }

  /// Goes on from a state, whose sums are in the arena.
  [[gnu::cold]] void resume(const WindowCounters& counters, bool closed) {
    progress_.resume(counters);
    arena_.hold_rows_from(counters.position);
    closed_ = closed;
    derive_again();
  }
  /// The parameters are others. What is derived of them is made where a window begins, and this one may have begun.
  [[gnu::cold]] void derive_again() {
    if (const std::int64_t position = progress_.position(); position > 0)
      arena_.queue().template run<Training, Phase::prologue>(arena_.arguments(0, position, true, false));
  }
  /// Whether it has no unfinished block, or has been told to add them.
  bool is_closed() const { return closed_; }

 private:
  /// Returns whether a part was added: it is undone where its gradients are not finite, if that was asked for.
  bool add_gradients(const StepArguments& arguments) {
    if (undoes_ && arguments.begin > 0) arena_.keep_sums(arguments.begin);
    try {
      arena_.queue().template run<Training, Phase::backward>(arguments);  // of samples that were taken, the first
      if (!undoes_ || arena_.sums_are_finite(arguments.begin + arguments.batch, arguments.last)) return true;
      undo();
      return false;
    } catch (...) {
      undo_or_lose();
      throw;
    }
  }
  /// A window without samples has no sums: the next part begins them.
  [[gnu::cold]] void undo() {
    if (progress_.position() > 0) arena_.restore_sums(progress_.position());
  }
  /// The device failed while a part was added.
  [[gnu::cold]] void undo_or_lose() {
    lost_ = true;
    if (undoes_) try {
        undo();
        lost_ = false;
      } catch (const Error&) {  // it fails for ever
      }
  }

  /// Asks for all of a part and waits for none of it, but for the losses of the part before the last.
  std::int64_t add_ahead(const StepArguments& arguments) {
    try {
      coming_.push(fetch_losses(arguments.batch, [&](auto... arrays) {
        return arena_.queue().template run_part<Training>(arguments, arrays...);
      }));
      take_losses(Queue::places - 1);
    } catch (...) {
      lost_ = true;
      throw;
    }
    return advance(arguments);
  }
  /// Counts a part that has been asked for. Returns its samples.
  std::int64_t advance(const StepArguments& arguments) {
    progress_.take(arguments.batch);
    last_part_ = arguments.batch;
    closed_ = arguments.last;
    if (!closed_ && progress_.noise().measures()) measure_noise();
    return arguments.batch;
  }
  [[gnu::cold]] void measure_noise() {
    try {
      take_losses();
      progress_.noise().add(arena_, progress_.position(), progress_.losses().weight());
    } catch (...) {  // the device failed
      lost_ = true;
      throw;
    }
  }

  /// Adds those of a part until the window is full, and returns how many samples these are.
  std::int64_t add_losses(Averages& sums, std::int64_t samples) {
    const Losses part = fetch_losses(samples, [&](auto... arrays) { return arena_.queue().fetch(arrays...); });
    arena_.queue().wait_for(part.place);
    if (progress_.ends_at_weight()) samples = progress_.until_full(part.weights, Arena::loss_unit, samples);
    sums.add(part.values, part.weights, Arena::loss_unit * samples);
    return samples;
  }
  /// `fetch`: as a queue's.
  template <class F>
  Losses fetch_losses(std::int64_t samples, F fetch) const {
    constexpr int weight = Training::root(Role::weight);
    Losses part{{arena_.stored(Training::root(Role::loss))}, nullptr, Arena::loss_unit * samples, 0};
    for (int m = 0; m < metrics.count; ++m) {
      part.values[m + 1] = arena_.stored(Training::root(Role::metric, m));
      if (metrics.has_own(m)) part.values[metrics.weight_of(m)] = arena_.stored(Training::root(Role::metric_weight, m));
    }
    if constexpr (weight >= 0) part.values[metrics.arrays()] = arena_.stored(weight);
    part.place = fetch(part.values, metrics.arrays() + (weight < 0 ? 0 : 1), Arena::loss_unit);
    if constexpr (weight >= 0) part.weights = part.values[metrics.arrays()];
    return part;
  }

  mutable WindowProgress progress_;  // losses come while it is looked at
  mutable LossesAhead<typename Arena::Real> coming_;
  bool undoes_, closed_ = true, lost_ = false;
  std::int64_t last_part_ = 0;  // samples that kernels were given
  Arena arena_;
};

}  // namespace gradual::detail
