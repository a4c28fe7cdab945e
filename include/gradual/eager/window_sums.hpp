#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <gradual/core/cpu/thread_pool.hpp>
#include <gradual/eager/tape.hpp>

namespace gradual::eager {

/// A window's sums for one backward: enough to continue when that is recorded again, also in another process.
struct BegunSums {
  std::uint64_t computation = 0;    ///< `fingerprint_of_sums` of the tapes with these sums
  std::vector<Shadow> shadows;      ///< of its sums, in order
  std::vector<std::int64_t> words;  ///< of four bytes, in each sum; −1 if nothing was added
  int place = 0;                    ///< among the backward computations of the window
};

/// Sums over the samples of a window (weight gradients and the like), added up while its parts are recorded one after another.
/// What backward computes from them without samples is done once, at the window's end. Parts whose backward differs, for
/// example because a loop's length depends on the data, have sums of their own, and their results are added at the end.
class WindowSums {
 public:
  /// Both must outlive it. `pool`: the threads that its tapes run on; null: this one alone.
  explicit WindowSums(const AnyParameters& parameters, cpu::ThreadPool* pool = nullptr);
  WindowSums(WindowSums&&) noexcept;
  WindowSums& operator=(WindowSums&&) noexcept;
  ~WindowSums();

  /// Returns a tape for samples [first, first + count) of `given`: the window's next part or, if not `deferring`, one only to
  /// look at.
  template <class Ops = OpsFor<void>>
  EagerTape& next_tape(std::int64_t first, std::int64_t count, std::int64_t given, bool deferring = true) {
    if (used_ == recordings_.size()) recordings_.push_back(std::make_unique<Recording>(*parameters_, Ops{}, pool_));
    EagerTape& tape = recordings_[used_]->tape;
    tape.begin(first, count, given, deferring);
    return tape;
  }

  /// Prepares to add the part on the tape, which begins at sample `begin` of the window; does everything that can fail. `last`:
  /// the window ends with it. `undoable`: copies the sums, so that a part that is not finite can be undone.
  /// Errors: MemoryError.
  void reserve(std::int64_t begin, bool last, bool undoable = false);

  /// Adds the reserved part, and keeps the tape's values without samples for the window's end. Returns whether it was added: an
  /// undoable part is undone if a sum is not finite afterwards; the caller then forgets the tape.
  /// Errors: DeviceError, after which sums that cannot be undone hold some of the part.
  bool add(std::int64_t begin, bool last);

  /// Forgets a part that could not be added; its memory returns to the device's pool.
  void forget_part();

  /// Returns what the window has summed so far, in order.
  std::vector<BegunSums> begun() const;
  /// Continues a window with these sums. It can be finished once each backward has been recorded again.
  void resume(std::vector<BegunSums> begun);

  /// Errors: TapeError if the backward of resumed sums has not been recorded since.
  void check_recorded() const;
  /// Writes the gradients of the window so far, in the parameters' type and one after another, on the device; the window cannot
  /// be continued. A term without samples is multiplied by `weight`, the window's. Errors: MemoryError, after which it can be
  /// called again; those of `check_recorded`.
  template <class Real>
  void finish(std::span<Real> gradient, double weight);

  /// Does the same for a window that goes on. Errors: MemoryError, which leaves the window as it was.
  template <class Real>
  void finish_copy(std::span<Real> gradient, double weight);

  /// Makes the window's end compute again what depends on parameters alone; to be called when these have changed.
  void derive_again();

  /// Forgets the window; its memory returns to the device's pool.
  void clear();

 private:
  struct Recording {
    template <class Ops>
    Recording(const AnyParameters& parameters, Ops ops, cpu::ThreadPool* pool) : tape(parameters, 1, ops, pool) {}
    EagerTape tape;
    std::vector<Shadow> shadows;  ///< of its sums, in order
    alignas(double) std::byte weight[sizeof(double)] = {};  ///< of the window, in the parameters' type
    int place = 0;  ///< among the backward computations of the window
  };

  static bool has_term(EagerTape& tape);
  static std::int64_t count_sums(EagerTape& tape);

  static std::int64_t words_of(const Node& sum) { return bytes_of(sum.shape, 1, sum.dtype) / 4; }

  /// Copies a tape's sums. Errors: MemoryError.
  std::vector<Shadow> copy_of(const std::vector<Shadow>& sums, EagerTape& tape) const;
  /// Restores the sums from before the part, if there is a copy.
  void undo();
  /// Whether all sums that the part was added to are finite.
  bool are_finite(Recording& part);

  /// Returns the index of the resumed sums of this computation; if there are none, the number of all resumed sums.
  std::size_t find_begun(EagerTape& tape) const;

  /// Calls f(node, its number among the sums) for every sum over samples of a tape.
  template <class F>
  static void each_sum(EagerTape& tape, F f) {
    std::size_t sum = 0;
    for (const int id : tape.values().unbatched())
      if (is_sample_sum(tape[id].op->kind)) f(id, sum++);
  }

  template <class Real>
  void finish(Recording& recording, std::span<Real> gradient, Real weight, bool add);

  const AnyParameters* parameters_;
  cpu::ThreadPool* pool_;
  std::vector<std::unique_ptr<Recording>> recordings_;  ///< the first `used_` of them hold sums of this window
  std::size_t used_ = 0;
  std::vector<BegunSums> begun_;  ///< resumed, and not recorded since
  int places_ = 0;                ///< of backward computations in this window so far
  std::vector<Shadow>* target_ = nullptr;  ///< the sums that the part is added to
  std::vector<Shadow> before_;             ///< copies from before the part was added, if it can be undone
  bool is_first_ = false;                  ///< the part is, of its computation, since the window began or was resumed
  std::size_t resumed_ = 0;                ///< the index in `begun_` that the first part continues; its size: none
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/window_sums.ipp>
#else
namespace gradual::eager {
extern template void WindowSums::finish(std::span<float>, double);
extern template void WindowSums::finish(std::span<double>, double);
extern template void WindowSums::finish_copy(std::span<float>, double);
extern template void WindowSums::finish_copy(std::span<double>, double);
}  // namespace gradual::eager
#endif
