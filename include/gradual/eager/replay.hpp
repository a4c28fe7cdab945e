#pragma once
#include <memory>

#include <gradual/eager/by_sample.hpp>
#include <gradual/eager/executor_on.hpp>

namespace gradual::eager {

/// A finished tape without samples that is run repeatedly, releasing each value after its last use.
class Replay {
 public:
  template <class Ops>
  Replay(const Device& device, Tape tape, Ops) : Replay(std::move(tape), executor_on<Ops>(device)) {}

  const Tape& tape() const { return tape_; }
  Executor& executor() { return *executor_; }

  /// Computes every value anew. Errors: MemoryError.
  void run();
  /// Returns the value that root `r` wants.
  Tensor root(std::size_t r) { return executor_->tensor(tape_, tape_.roots[r].node); }
  /// Releases the values that are left after a run.
  void release();

 private:
  Replay(Tape tape, std::unique_ptr<Executor> executor);
  /// A view reads its operand when it is read itself, so each use of the view is one of its operand too.
  void use(int id, int by);
  void release_after(int id, int user);
  bool reads_another(int id) const { return is_view(tape_[id].op->kind) && tape_[id].op->arity > 0; }

  Tape tape_;
  std::unique_ptr<Executor> executor_;
  std::vector<int> last_use_;
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/replay.ipp>
#endif
