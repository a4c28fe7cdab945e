#pragma once
#include <vector>

#include <gradual/autodiff/tape.hpp>

namespace gradual::eager {

/// Whether a node is the window's weight, by which backward multiplies a term without samples.
bool is_weight(const Tape& tape, int id);

/// The values of a tape that do not have one element per sample, in the order of recording. In a part of a window, sums over
/// its samples, the window's weight, and what depends on them wait for the window's end.
class WindowValues {
 public:
  /// `deferring`: the tape is a part of a window.
  void reset(bool deferring);
  /// Makes room for a finished tape of `count` nodes, none of which waits.
  void expect(int count) { of_.resize(static_cast<std::size_t>(count)); }

  /// Adds the next node. Returns whether it waits. Errors: ShapeError if a sample's value would depend on the window's end.
  bool add(const Tape& tape, int id);
  /// Forgets the last node, if it has been added.
  void remove(int id);

  const std::vector<int>& ids() const { return ids_; }
  /// Returns the index of a value among them; −1: it has one element per sample.
  int ordinal(int id) const { return of_[index(id)].ordinal; }
  bool waits(int id) const { return of_[index(id)].waits; }

  void end_wait(int id) { of_[index(id)].waits = false; }
  /// Makes a value wait if it is a sum or the window's weight, or one of its operands waits. Returns whether it waits.
  bool defer(const Tape& tape, int id) { return of_[index(id)].waits = depends_on_end(tape, id); }

  /// Forgets waiting values that no root wants: sums that backward has joined.
  void forget_unwanted(const Tape& tape);

 private:
  struct Of {
    int ordinal = -1;
    bool waits = false;
    bool wanted = false;  ///< by a root, or by a wanted value
  };
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  bool depends_on_end(const Tape& tape, int id) const;

  std::vector<Of> of_;  ///< every node
  std::vector<int> ids_;
  bool deferring_ = false;
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/window_values.ipp>
#endif
