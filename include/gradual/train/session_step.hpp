#pragma once
#include <gradual/train/loss_scaler.hpp>
#include <gradual/train/opaque_on_arrays.hpp>
#include <gradual/train/session_window.hpp>
#include <gradual/train/update_numbers.hpp>

namespace gradual::detail {

/// What ends the windows of a compiled session: the batch-free rest of backward, then the inner optimizer, once.
template <class Net, class Optimizer, class Arena>
class SessionStep {
  using Rule = gradual::RuleOf<Optimizer>;
  using Layout = typename Arena::Layout;
  using Window = SessionWindow<Arena>;
  using Opaque = OpaqueOnArrays<Optimizer, typename Net::Real>;
  static constexpr bool twice = evaluates_twice<Rule>;

 public:
  /// Errors: OptionError for a rule whose numbers or names cannot be (`UpdateNumbers`, `scalars_of_rule`, `LossScaler`).
  [[gnu::cold]] explicit SessionStep(const Optimizer& optimizer)
      : scaler_(LossScaler::of(rule_of(optimizer))),
        numbers_(rule_of(optimizer), scalars_of_rule<Net, Layout>(rule_of(optimizer))),
        opaque_(optimizer) {}

  [[gnu::cold]] void begin(Arena& arena) {
    arena.set_loss_scale(scaler_.scale());
    if constexpr (Opaque::exists)
      opaque_.begin(Net::declared(), arena.frozen(), arena.parameters(), arena.state(0),
                    Net::Backend::shares_host_memory);
  }
  const LossScaler& scaler() const { return scaler_; }
  /// `begun`: inside a window.
  [[gnu::cold]] void resume(const LossScaler& scaler, bool begun, Arena& arena) {
    scaler_.resume(scaler, begun);
    arena.set_loss_scale(scaler_.scale());
  }
  Opaque& opaque() { return opaque_; }
  const Opaque& opaque() const { return opaque_; }

  /// Ends the window, whatever comes of it. Returns the number of steps made. Errors: DataError for a window of a
  /// weight that nothing can be divided by, or that was to be given again; NonFiniteError where that is asked for.
  int end(Window& window, const SessionOptions& options) {
    WindowProgress& progress = window.progress();
    Arena& arena = window.arena();
    window.take_losses();
    const EndedWindow ended = progress.ending();
    window.close_blocks();
    const NoiseSums noise = progress.noise().end_window();
    const double scale = scaler_.scale(), weight = ended.losses.weight();
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
    const double divisor = detail::divisor(options, weight);
    arena.finish_gradients(divisor);
    progress.divide_gradient_by(divisor * scale);
    const auto make = [&] {
      progress.noise().finish(arena, noise, weight, scale);
      update(arena, progress.steps(), divisor, scale, ended.evaluation);
    };
    const bool finite = ended.losses.finite() && if_finite(arena, options.noise_batch == 0, make);
    end_scale(arena, finite && ended.whole, finite && !ended.is_first());
    if (finite) return progress.move_by(ended);
    drop(window, options);
    return 0;
  }

  /// Steps on gradients that lie in their places, without a window.
  void apply(Window& window, double weight) {
    window.progress().divide_gradient_by(weight);
    update(window.arena(), window.progress().steps(), weight, 1, Evaluation::second);
    window.progress().count_step();
  }

  /// Forgets a window.
  void discard(Window& window) {
    go_back(window);
    window.clear();
    forget_scale(window.arena());
  }

  /// To the parameters, where the window was to be evaluated again.
  void go_back(Window& window) {
    if constexpr (twice) {
      if (!window.progress().again()) return;
      window.arena().require_transient();
      update(window.arena(), window.progress().steps(), 1, 1, Evaluation::back);
      window.progress().go_back();
    }
  }

 private:
  /// Makes the step where all gradients are finite. Returns whether. A device that runs kernels alone, as it does not to
  /// measure noise or around what is frozen, need not wait until the host knows.
  template <class F>
  bool if_finite(Arena& arena, bool alone, F make) {
    auto& queue = arena.queue();
    if (!Opaque::exists && alone && arena.frozen().elements() == 0)
      return queue.template run_if_finite<typename Layout::UpdateProgram>(arena.gradients(), Net::parameter_elements,
                                                                          make);
    const bool finite = queue.all_finite(arena.gradients(), Net::parameter_elements);
    if (finite) make();
    return finite;
  }

  /// The inner optimizer, once, on the summed gradient of a loss that was scaled.
  void update(Arena& arena, std::int64_t steps, double weight, double scale, Evaluation evaluation) {
    arena.update(numbers_.in_step(steps, weight, scale, evaluation));
    if constexpr (Opaque::exists)
      opaque_.step([&](auto... copied) { arena.queue().read(copied...); },
                   [&](auto... copied) { arena.queue().write(copied...); });
  }

  /// The scale of the next window's loss, as `LossScaler::end_window`.
  void end_scale(Arena& arena, bool finite, bool counts) {
    change_scale(arena, [&] { scaler_.end_window(finite, counts); });
  }
  [[gnu::cold]] void forget_scale(Arena& arena) {
    change_scale(arena, [&] { scaler_.forget_window(); });
  }
  template <class F>
  void change_scale(Arena& arena, F change) {
    const double before = scaler_.scale();
    change();
    if (scaler_.scale() != before) arena.set_loss_scale(scaler_.scale());
  }

  /// The window has ended already; its step is not made.
  [[gnu::cold]] void drop(Window& window, const SessionOptions& options) {
    Arena& arena = window.arena();
    window.progress().drop_window();
    go_back(window);
    if (options.non_finite != NonFinite::raise) return;
    window.progress().raise_non_finite(Net::declared(), [&](int p) {
      return arena.queue().all_finite(arena.gradients() + Net::parameter_offset(p), Net::parameter(p).shape.unit());
    });
  }

  LossScaler scaler_;
  UpdateNumbers<typename Layout::Sum> numbers_;
  Opaque opaque_;
};

}  // namespace gradual::detail
