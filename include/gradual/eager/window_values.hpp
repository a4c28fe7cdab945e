#pragma once
#include <string>
#include <vector>

#include <gradual/autodiff/ops/input.hpp>

namespace gradual::eager {

/// Whether it is the window's weight, by which backward multiplies a term that no sample enters.
inline bool is_weight(const Tape& tape, int id) {
  return tape.first_adjoint >= 0 && id >= tape.first_adjoint && is_input(tape[id], Input::scalar);
}

/// The values of a tape that do not have one element per sample, in the order of recording. Of a part of a window, sums
/// over its samples, the window's weight, and what is made of them wait for the window's end.
class WindowValues {
 public:
  /// `deferring`: the tape is of a part of a window.
  void reset(bool deferring) {
    of_.clear();
    ids_.clear();
    deferring_ = deferring;
  }
  /// Makes room for a finished tape of `count` nodes, none of which waits.
  void expect(int count) { of_.resize(static_cast<std::size_t>(count)); }

  /// One more node. Returns whether it waits. Errors: ShapeError where a sample's value would depend on the window's
  /// end.
  bool add(const Tape& tape, int id) {
    of_.resize(index(id) + 1);
    if (!tape[id].shape.batched()) {
      of_.back().ordinal = static_cast<int>(ids_.size());
      ids_.push_back(id);
    }
    if (!deferring_) return false;
    if (depends_on_end(tape, id) && tape[id].shape.batched())
      throw ShapeError(std::string(tape[id].op->name) +
                       ": a sample's value depends on the gradient of the batch: samples would be coupled");
    return defer(tape, id);
  }
  /// Forgets the last node, where it has been added.
  void remove(int id) {
    if (of_.size() > index(id)) of_.resize(index(id));
    if (!ids_.empty() && ids_.back() == id) ids_.pop_back();
  }

  const std::vector<int>& ids() const { return ids_; }
  /// The place of one among them; −1: it has one element per sample.
  int ordinal(int id) const { return of_[index(id)].ordinal; }
  bool waits(int id) const { return of_[index(id)].waits; }

  void end_wait(int id) { of_[index(id)].waits = false; }
  /// Lets a value wait if it is a sum or the window's weight, or one of its operands waits. Returns whether.
  bool defer(const Tape& tape, int id) { return of_[index(id)].waits = depends_on_end(tape, id); }

  /// Forgets what waits and no root wants: sums that backward has joined.
  void forget_unwanted(const Tape& tape) {
    for (const int id : ids_) of_[index(id)].wanted = false;
    for (const Root& root : tape.roots) of_[index(root.node)].wanted = !tape[root.node].shape.batched();
    for (auto id = ids_.rbegin(); id != ids_.rend(); ++id)
      for (int k = 0; k < tape[*id].op->arity && of_[index(*id)].wanted; ++k)
        of_[index(tape[*id].in[k])].wanted = !tape[tape[*id].in[k]].shape.batched();
    std::erase_if(ids_, [&](int id) { return waits(id) && !of_[index(id)].wanted; });
    int ordinal = 0;
    for (const int id : ids_) of_[index(id)].ordinal = ordinal++;
  }

 private:
  struct Of {
    int ordinal = -1;
    bool waits = false;
    bool wanted = false;  ///< by a root, or by what is
  };
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  bool depends_on_end(const Tape& tape, int id) const {
    bool waits = is_cut(tape[id].op->kind) || is_weight(tape, id);
    for (int k = 0; k < tape[id].op->arity; ++k) waits = waits || of_[index(tape[id].in[k])].waits;
    return waits;
  }

  std::vector<Of> of_;  ///< every node
  std::vector<int> ids_;
  bool deferring_ = false;
};

}  // namespace gradual::eager
