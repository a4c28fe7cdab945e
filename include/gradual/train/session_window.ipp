#pragma once
#include <gradual/train/session_window.hpp>

namespace gradual::detail {

template <class Arena>
SessionWindow<Arena>::SessionWindow(const SessionTables& tables, const typename Arena::Programs& programs,
                                    const SessionOptions& options, std::int64_t calls, bool twice,
                                    const InitialState& initial_state)
    : progress_(options, calls, twice, tables.metrics),
      undoes_(options.non_finite == NonFinite::drop_micro_batch), evaluates_drawing_(options.evaluate_drawing),
      arena_(tables, programs, options, calls != 0 || windows_vary(options), initial_state) {}

template <class Arena>
std::int64_t SessionWindow<Arena>::add(std::int64_t part, bool last, std::uint64_t round, const std::int32_t* samples) {
  const std::int64_t position = progress_.position();
  if (position == 0) arena_.begin_step(progress_.steps()), derived_ = true;  // the prologue runs
  else derive_for_training();
  StepArguments arguments = arena_.arguments(part, position, position == 0, last);
  arguments.random.round = round;
  arguments.random.samples = samples;
  arguments.random.begin = position;
  if constexpr (ahead)
    if (!undoes_ && !progress_.ends_at_weight()) return add_ahead(arguments);
  looked_at_ = false;
  take_losses();
  if (position == 0) run(Phase::prologue, arguments);
  run(Phase::forward, arguments);
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

template <class Arena>
auto SessionWindow<Arena>::evaluate(std::int64_t part, std::int64_t first) -> Losses {
  StepArguments arguments = arena_.arguments(part, progress_.position(), first == 0, false);
  arguments.random = evaluates_drawing_ ? arguments.random.of_evaluation(first) : Randomness{};
  derived_ = false;
  run(Phase::prologue, arguments);
  run(Phase::forward, arguments);
  return fetch_losses(part, [&](auto... arrays) { return arena_.queue().fetch(arrays...); });
}

template <class Arena>
void SessionWindow<Arena>::close_blocks() {
  if (closed_) return;
  lost_ = true;  // on error, since some may have been added
  arena_.close_blocks(progress_.position());
  lost_ = false;
  closed_ = true;
}

template <class Arena>
void SessionWindow<Arena>::clear() {
  coming_.forget();
  progress_.clear();
  arena_.hold_rows_from(0);
  closed_ = true;
  lost_ = false;
}

template <class Arena>
void SessionWindow<Arena>::resume(const WindowCounters& counters, bool closed) {
  progress_.resume(counters);
  looked_at_ = false;
  arena_.hold_rows_from(counters.position);
  closed_ = closed;
  derive_again();
}

template <class Arena>
void SessionWindow<Arena>::derive_again() {
  derived_ = false;  // on error, the next part derives
  arena_.begin_step(progress_.steps());
  if (const std::int64_t position = progress_.position(); position > 0)
    run(Phase::prologue, arena_.arguments(0, position, true, false));
  derived_ = true;
}

template <class Arena>
bool SessionWindow<Arena>::add_gradients(const StepArguments& arguments) {
  if (undoes_ && arguments.begin > 0) arena_.keep_sums(arguments.begin);
  try {
    run(Phase::backward, arguments);  // only of the samples taken, which come first
    if (!undoes_ || arena_.sums_are_finite(arguments.begin + arguments.batch, arguments.last)) return true;
    undo();
    return false;
  } catch (...) {
    undo_or_lose();
    throw;
  }
}

template <class Arena>
void SessionWindow<Arena>::undo() {
  if (progress_.position() > 0) arena_.restore_sums(progress_.position());
}

template <class Arena>
void SessionWindow<Arena>::undo_or_lose() {
  lost_ = true;
  if (undoes_) try {
      undo();
      lost_ = false;
    } catch (const Error&) {  // the device fails for good
    }
}

template <class Arena>
std::int64_t SessionWindow<Arena>::add_ahead(const StepArguments& arguments) {
  if constexpr (ahead) try {
      if (arguments.first) looked_at_ = true;
      coming_.push(fetch_losses(arguments.batch, [&](auto... arrays) {
        return arena_.queue().run_part(arena_.training(), arguments, arrays...);
      }));
      take_losses(Queue::places - 1);
    } catch (...) {
      lost_ = true;
      throw;
    }
  return advance(arguments);
}

template <class Arena>
std::int64_t SessionWindow<Arena>::advance(const StepArguments& arguments) {
  progress_.take(arguments.batch);
  last_part_ = arguments.batch;
  closed_ = arguments.last;
  if (!closed_ && progress_.noise().measures()) measure_noise();
  return arguments.batch;
}

template <class Arena>
void SessionWindow<Arena>::measure_noise() {
  try {
    take_losses();
    progress_.noise().add(arena_, progress_.position(), progress_.losses().weight());
  } catch (...) {  // the device failed
    lost_ = true;
    throw;
  }
}

template <class Arena>
std::int64_t SessionWindow<Arena>::add_losses(Averages& sums, std::int64_t samples) {
  const Losses part = fetch_losses(samples, [&](auto... arrays) { return arena_.queue().fetch(arrays...); });
  arena_.queue().wait_for(part.place);
  if (progress_.ends_at_weight()) samples = progress_.until_full(part.weights, tables().loss_unit, samples);
  sums.add(part.values, part.weights, tables().loss_unit * samples);
  return samples;
}

template <class Arena>
template <class F>
auto SessionWindow<Arena>::fetch_losses(std::int64_t samples, F fetch) const -> Losses {
  Losses part{{}, nullptr, tables().loss_unit * samples, 0};
  for (int i = 0; i < tables().loss_arrays; ++i) part.values[i] = arena_.value(tables().losses[i]);
  part.place = fetch(part.values, tables().loss_arrays, tables().loss_unit);
  if (tables().has_weights) part.weights = part.values[tables().loss_arrays - 1];
  return part;
}

}  // namespace gradual::detail
