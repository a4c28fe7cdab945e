#pragma once
#include <gradual/train/session_step.hpp>

namespace gradual::detail {

template <class Arena, class Opaque>
void SessionStep<Arena, Opaque>::begin(Arena& arena) {
  arena.set_loss_scale(scaler_.scale());
  if constexpr (Opaque::exists)
    opaque_.begin(arena.tables().parameters, arena.frozen(), arena.parameters(), arena.state(0),
                  arena.tables().shares_host_memory);
}

template <class Arena, class Opaque>
void SessionStep<Arena, Opaque>::resume(const LossScaler& scaler, bool begun, Arena& arena) {
  scaler_.resume(scaler, begun);
  arena.set_loss_scale(scaler_.scale());
}

template <class Arena, class Opaque>
template <class W>
bool SessionStep<Arena, Opaque>::may_end_ahead(const W& window, const SessionOptions& options) const {
  const Arena& arena = window.arena();
  return !Opaque::exists && !twice_ && options.noise_batch == 0 && window.losses_are_looked_at() &&
         window.progress().position() > 0 && arena.frozen().elements() == 0 && !arena.tables().has_weights &&
         arena.updating().all_here;
}

template <class Arena, class Opaque>
template <class W>
int SessionStep<Arena, Opaque>::end_ahead(W& window, const SessionOptions& options) {
  WindowProgress& progress = window.progress();
  Arena& arena = window.arena();
  const double weight = static_cast<double>(progress.position() * arena.tables().loss_unit);
  const double divisor = detail::divisor(options, weight), scale = scaler_.scale();
  progress.begin_step();  // on error the window waits
  const auto numbers = numbers_.in_step({progress.steps(), divisor, scale});
  window.derive_for_training();
  window.close_blocks();
  bool finite = false;
  try {
    arena.finish_gradients(divisor);
    finite = arena.queue().run_if_finite_with_losses(arena.gradients(), arena.parameter_elements(),
                                                     [&] { update(window, numbers); }, [&] { window.take_losses(); });
  } catch (...) {
    window.clear();
    forget_scale(arena);
    throw;
  }
  const EndedWindow ended = progress.ending();
  window.clear();
  progress.keep(ended);
  progress.divide_gradient_by(divisor * scale);
  return conclude(window, ended, finite, options);
}

template <class Arena, class Opaque>
int SessionStep<Arena, Opaque>::conclude(Window& window, const EndedWindow& ended, bool finite, const SessionOptions& options) {
  end_scale(window.arena(), finite && ended.whole, finite && !ended.is_first());
  if (finite) return window.progress().move_by(ended);
  drop(window, options);
  return 0;
}

template <class Arena, class Opaque>
[[gnu::hot]] int SessionStep<Arena, Opaque>::end(Window& window, const SessionOptions& options) {
  if constexpr (Window::ahead)
    if (may_end_ahead(window, options)) return end_ahead(window, options);
  WindowProgress& progress = window.progress();
  Arena& arena = window.arena();
  window.derive_for_training();
  window.take_losses();
  const EndedWindow ended = progress.ending();
  const double scale = scaler_.scale(), weight = ended.losses.weight(), divisor = detail::divisor(options, weight);
  std::span<const Sum> numbers;
  if (ended.learns) {
    progress.begin_step();  // on error the window waits
    numbers = numbers_.in_step({progress.steps(), divisor, scale, ended.evaluation});
  }
  window.close_blocks();
  const NoiseSums noise = progress.noise().end_window();
  window.clear();
  try {
    progress.check(ended);
  } catch (...) {
    forget_scale(arena);
    throw;
  }
  progress.keep(ended);
  if (!ended.learns) {
    end_scale(arena, ended.whole, false);
    return 0;
  }
  arena.finish_gradients(divisor);
  progress.divide_gradient_by(divisor * scale);
  const auto make = [&] {
    progress.noise().finish(arena, noise, weight, scale);
    update(window, numbers);
  };
  const bool finite = ended.losses.finite() && if_finite(arena, options.noise_batch == 0, make);
  return conclude(window, ended, finite, options);
}

template <class Arena, class Opaque>
template <class F>
void SessionStep<Arena, Opaque>::apply(Window& window, double weight, F put) {
  const auto numbers = numbers_.in_step({.steps = window.progress().steps(), .weight = weight});
  put();
  window.progress().divide_gradient_by(weight);
  update(window, numbers);
  window.progress().count_step();
}

template <class Arena, class Opaque>
void SessionStep<Arena, Opaque>::discard(Window& window) {
  window.clear();
  forget_scale(window.arena());
  go_back(window);
}

template <class Arena, class Opaque>
void SessionStep<Arena, Opaque>::go_back(Window& window) {
  if (!twice_ || !window.progress().again()) return;
  window.arena().require_transient();
  update(window, numbers_.in_step({.steps = window.progress().steps(), .evaluation = Evaluation::back}));
  window.progress().go_back();
}

template <class Arena, class Opaque>
template <class F>
bool SessionStep<Arena, Opaque>::if_finite(Arena& arena, bool alone, F make) {
  if (!Opaque::exists && alone && arena.frozen().elements() == 0)
    return arena.queue().run_if_finite(arena.updating(), arena.gradients(), arena.parameter_elements(), make);
  const bool finite = arena.gradients_are_finite();
  if (finite) make();
  return finite;
}

template <class Arena, class Opaque>
void SessionStep<Arena, Opaque>::update(Window& window, std::span<const Sum> numbers) {
  Arena& arena = window.arena();
  arena.begin_step(window.progress().steps());
  arena.update(numbers);
  if constexpr (Opaque::exists)
    opaque_.step([&](auto... copied) { arena.queue().read(copied...); },
                 [&](auto... copied) { arena.queue().write(copied...); });
}

template <class Arena, class Opaque>
void SessionStep<Arena, Opaque>::end_scale(Arena& arena, bool finite, bool counts) {
  change_scale(arena, [&] { scaler_.end_window(finite, counts); });
}

template <class Arena, class Opaque>
void SessionStep<Arena, Opaque>::forget_scale(Arena& arena) {
  change_scale(arena, [&] { scaler_.forget_window(); });
}

template <class Arena, class Opaque>
template <class F>
void SessionStep<Arena, Opaque>::change_scale(Arena& arena, F change) {
  const double before = scaler_.scale();
  change();
  if (scaler_.scale() != before) arena.set_loss_scale(scaler_.scale());
}

template <class Arena, class Opaque>
void SessionStep<Arena, Opaque>::drop(Window& window, const SessionOptions& options) {
  Arena& arena = window.arena();
  window.progress().drop_window();
  go_back(window);
  if (options.non_finite != NonFinite::raise) return;
  const SessionTables& tables = arena.tables();
  window.progress().raise_non_finite(
      tables.parameters,
      [&](int p) {
        return arena.frozen().contains(p) ||
               arena.queue().all_finite(static_cast<const Real*>(arena.part(0, p)), tables.part_elements(0, p));
      },
      [&](int p) {
        return arena.frozen().contains(p) ||
               arena.queue().all_finite(static_cast<const Sum*>(arena.part(1, p)), tables.part_elements(1, p));
      });
}

}  // namespace gradual::detail
