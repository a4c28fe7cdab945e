#pragma once
#include <gradual/train/loss_scaler.hpp>
#include <gradual/train/opaque_on_arrays.hpp>
#include <gradual/train/session_window.hpp>
#include <gradual/train/update_numbers.hpp>

namespace gradual::detail {

/// What ends the windows of a compiled session: the batch-free rest of backward, then the inner optimizer, once.
template <class Arena, class Opaque>
class SessionStep {
  using Window = SessionWindow<Arena>;
  using Real = typename Arena::Real;
  using Sum = typename Arena::Sum;

 public:
  static constexpr bool has_opaque = Opaque::exists;

  /// Errors: OptionError for a rule whose numbers or names cannot be (`UpdateNumbers`, `scalars_of_rule`, `LossScaler`).
  template <class Optimizer>
  SessionStep(const SessionTables& tables, const Optimizer& optimizer)
      : scaler_(LossScaler::of(rule_of(optimizer))),
        numbers_(rule_of(optimizer), scalars_of_rule<Sum, Real>(tables, rule_of(optimizer))),
        opaque_(optimizer), twice_(gradual::evaluates_twice<RuleOf<Optimizer>>) {}

  void begin(Arena& arena);
  const LossScaler& scaler() const { return scaler_; }
  /// Each window, the second time not at the parameters.
  bool evaluates_twice() const { return twice_; }
  /// `begun`: inside a window.
  void resume(const LossScaler& scaler, bool begun, Arena& arena);
  Opaque& opaque() { return opaque_; }
  const Opaque& opaque() const { return opaque_; }

  /// Ends the window, whatever comes of it. Returns the number of steps made. Errors: DataError for a window of a
  /// weight that nothing can be divided by, or that was to be given again; NonFiniteError where that is asked for.
  int end(Window& window, const SessionOptions& options);

  /// Steps on gradients that lie in their places, without a window.
  void apply(Window& window, double weight);

  /// Forgets a window.
  void discard(Window& window);

 private:
  // Templates, so that they are made for devices that work ahead alone.
  /// Whether the host need know nothing of the window before its step is asked for.
  template <class W>
  bool may_end_ahead(const W& window, const SessionOptions& options) const;
  /// As `end`, on a device that looks at the losses itself: they come while it makes the step.
  template <class W>
  int end_ahead(W& window, const SessionOptions& options);
  /// What becomes of a window whose step was asked for, and made where all was finite. Returns the number of steps made.
  int conclude(Window& window, const EndedWindow& ended, bool finite, const SessionOptions& options);
  /// To the parameters, where the window was to be evaluated again.
  void go_back(Window& window);
  /// Makes the step where all gradients are finite. Returns whether. A device that runs kernels alone, as it does not to
  /// measure noise or around what is frozen, need not wait until the host knows.
  template <class F>
  bool if_finite(Arena& arena, bool alone, F make);
  /// The inner optimizer, once, on the summed gradient of a loss that was scaled.
  void update(Window& window, std::span<const Sum> numbers);

  /// The scale of the next window's loss, as `LossScaler::end_window`.
  void end_scale(Arena& arena, bool finite, bool counts);
  void forget_scale(Arena& arena);
  template <class F>
  void change_scale(Arena& arena, F change);

  /// The window has ended already; its step is not made.
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
