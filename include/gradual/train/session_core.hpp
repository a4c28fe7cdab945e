#pragma once
#include <gradual/core/out_of_memory.hpp>
#include <gradual/train/inference_layout.hpp>
#include <gradual/train/session_state.hpp>
#include <gradual/train/session_step.hpp>

namespace gradual::detail {

/// A compiled session with its net's and optimizer's types erased: functions do as those of the same names in `Session`, with
/// samples that were validated, one pointer for each input, or that are made.
template <class Arena, class Opaque>
class SessionCore {
  using Backend = typename Arena::Backend;

 public:
  using Real = typename Arena::Real;
  using Sum = typename Arena::Sum;
  using Step = SessionStep<Arena, Opaque>;
  using Window = SessionWindow<Arena>;
  using Samples = SamplesGiven;

  template <class Optimizer>
  SessionCore(const SessionTables& tables, const typename Arena::Programs& programs, const Optimizer& optimizer,
              const SessionOptions& options);
  SessionCore(SessionCore&&) = default;
  SessionCore& operator=(SessionCore&&) = default;
  ~SessionCore();  // not inline, since `gradual::kernels` has it

  int accumulate(std::int64_t count, const void* const* data, DeferredCheck check);
  /// Returns those of `rows` that the window has room for, which must be valid. Errors: OptionError, DataError.
  std::span<const std::int32_t> rows_of_window(std::span<const std::int32_t> rows) const;
  /// Adds rows that were validated, or will be when they are made, up to one window.
  void add_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken, Samples data);
  int flush();
  void close_blocks();
  void discard() { step_.discard(window_); }
  void apply(std::span<const Sum> gradient_sum, double weight);
  Averages evaluate(std::int64_t count, Samples data);
  void losses(std::int64_t count, Samples data, std::span<Real> out);
  void predict(const InferenceLayout& layout, const typename Backend::Kernels& kernels, std::int64_t count,
               const void* const* data, std::span<Real> out);
  void set_budget(Budget budget);
  void set_parameters(std::span<const Real> values);
  /// `optimizer`: the name of its type, as the compiler spells it.
  Checkpoint state(const char* optimizer) const;
  void restore(const Checkpoint& file, const char* optimizer);
  /// Errors: OptionError inside a window with a gradient that is known only once the window has ended.
  void check_accumulator() const;
  /// Errors: OptionError for a state that the rule does not have, or whose shapes are not the parameters'.
  void check_state(int index) const;
  double squares_of_gradient() const;

  Arena& arena() { return window_.arena(); }
  const Arena& arena() const { return window_.arena(); }
  WindowProgress& progress() { return window_.progress(); }
  const WindowProgress& progress() const { return window_.progress(); }
  const LossScaler& scaler() const { return step_.scaler(); }
  Opaque& opaque() { return step_.opaque(); }
  /// Returns the number of samples in the micro-batch that kernels learned from last.
  std::int64_t last_part() const { return window_.last_part(); }
  const SessionOptions& options() const { return options_; }

 private:
  using MakeStep = Step(const SessionTables& tables, const void* optimizer);
  /// `calls`: as for `WindowProgress`.
  SessionCore(const SessionTables& tables, const typename Arena::Programs& programs, MakeStep* make_step,
              const void* optimizer, std::int64_t calls, const InitialState& initial_state, const SessionOptions& options);

  static SessionOptions with_free_memory(SessionOptions options) {
    if (options.memory_budget.follows) options.memory_budget.bytes = Backend::free_memory();
    return options;
  }
  /// Returns the device memory that this session holds or that is free.
  Budget what_is_free() const { return Backend::free_memory() + arena().bytes(); }
  /// At the beginning of a window, grows into memory that has become free, where the options ask for that.
  void follow_memory() {
    if (options_.memory_budget.follows && progress().position() == 0) set_budget(options_.memory_budget);
  }
  void require_transient() {
    arena().require_transient();
    options_.micro_batch = arena().micro_batch();
  }
  /// Checks that so many samples may be given next. Errors: OptionError.
  void check_next(std::int64_t count) const {
    check_blocks(count);
    progress().check_room(count);
  }
  /// Returns the number of steps made.
  int step() {
    return unless_lost([&] { return step_.end(window_, options_); });
  }
  /// Returns f(). An error that leaves the window half changed discards it.
  template <class F>
  auto unless_lost(F f) {
    try {
      return f();
    } catch (...) {
      if (window_.is_lost()) discard();
      throw;
    }
  }

  /// Refuses samples for a window that was closed. Where weight gradients have no memory for an open block, a part must end on
  /// a block or with its window; `last`: the window ends with these samples.
  void check_blocks(std::int64_t count, bool last = false) const;
  /// `round`, `samples`: the keys of random numbers. Returns how many of `part` samples were taken.
  std::int64_t add(std::int64_t part, bool last, std::uint64_t round, const std::int32_t* samples = nullptr);
  /// Calls f with the losses of one part after another, once they have been requested; learns nothing from them.
  template <class F>
  void each_part(std::int64_t count, Samples data, F f);
  StateKind kind(const char* optimizer) const;

  SessionOptions options_;
  Step step_;
  Window window_;
};

}  // namespace gradual::detail

#include <gradual/train/session_core.ipp>

#ifdef GRADUAL_SHARED_KERNELS
namespace gradual::detail {
extern template class SessionCore<SessionArena<Cpu, float, float>, NoOpaque>;
}
#endif
