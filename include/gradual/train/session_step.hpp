#pragma once
#include <gradual/train/loss_scaler.hpp>
#include <gradual/train/opaque_on_arrays.hpp>
#include <gradual/train/scalars_of_rule.hpp>
#include <gradual/train/session_window.hpp>
#include <gradual/train/update_numbers.hpp>

namespace gradual::detail {

/// The end of a compiled session's windows: the batch-free rest of the backward pass, then the inner optimizer, once.
template <class Arena, class Opaque>
class SessionStep {
  using Window = SessionWindow<Arena>;
  using Real = typename Arena::Real;
  using Sum = typename Arena::Sum;

 public:
  static constexpr bool has_opaque = Opaque::exists;

  /// Errors: OptionError for a rule whose numbers or names are invalid (`UpdateNumbers`, `scalars_of_rule`, `LossScaler`).
  template <class Optimizer>
  SessionStep(const SessionTables& tables, const Optimizer& optimizer)
      : scaler_(LossScaler::of(rule_of(optimizer))),
        numbers_(rule_of(optimizer), scalars_of_rule<Sum, Real>(tables, rule_of(optimizer))),
        opaque_(optimizer), twice_(gradual::evaluates_twice<RuleOf<Optimizer>>) {}

  void begin(Arena& arena);
  const LossScaler& scaler() const { return scaler_; }
  /// Whether it evaluates each window twice, the second time not at the parameters.
  bool evaluates_twice() const { return twice_; }
  /// `begun`: inside a window.
  void resume(const LossScaler& scaler, bool begun, Arena& arena);
  Opaque& opaque() { return opaque_; }
  const Opaque& opaque() const { return opaque_; }

  /// Ends the window, whatever the outcome. Returns the number of steps made. Errors: DataError for a window of a weight that
  /// cannot be a divisor, or one other than that to be given again; NonFiniteError where the options ask for it.
  int end(Window& window, const SessionOptions& options);

  /// Steps on gradients that put() has put in their places, without a window. Errors: OptionError, before that.
  template <class F>
  void apply(Window& window, double weight, F put);

  /// Forgets a window.
  void discard(Window& window);

 private:
  // Templates, so that they are instantiated only for devices that work ahead.
  /// Whether the host can request the window's step without knowing anything of the window.
  template <class W>
  bool may_end_ahead(const W& window, const SessionOptions& options) const;
  /// As `end`, on a device that checks the losses itself: they arrive while it makes the step.
  template <class W>
  int end_ahead(W& window, const SessionOptions& options);
  /// Concludes a window whose step was requested, and made if all was finite. Returns the number of steps made.
  int conclude(Window& window, const EndedWindow& ended, bool finite, const SessionOptions& options);
  /// Moves back to the parameters, where the window was to be evaluated again.
  void go_back(Window& window);
  /// Makes the step if all gradients are finite, and returns whether. A device need not wait until the host knows if the step
  /// runs only kernels (`alone`), which it does not where noise is measured or parameters are frozen.
  template <class F>
  bool if_finite(Arena& arena, bool alone, F make);
  /// Runs the inner optimizer, once, on the summed gradient of a loss that was scaled.
  void update(Window& window, std::span<const Sum> numbers);

  /// Sets the scale of the next window's loss, as `LossScaler::end_window`.
  void end_scale(Arena& arena, bool finite, bool counts);
  void forget_scale(Arena& arena);
  template <class F>
  void change_scale(Arena& arena, F change);

  /// Drops a window that has ended without a step.
  void drop(Window& window, const SessionOptions& options);

  LossScaler scaler_;
  UpdateNumbers<Sum> numbers_;
  Opaque opaque_;
  bool twice_;
};

}  // namespace gradual::detail

#include <gradual/train/session_step.ipp>

#ifdef GRADUAL_SHARED_KERNELS
namespace gradual::detail {
extern template class SessionStep<SessionArena<Cpu, float, float>, NoOpaque>;
}
#endif
