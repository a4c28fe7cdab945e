#pragma once
#include <span>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/eager/value_table.hpp>

namespace gradual::eager {

/// The remaining readers of the values of a tape on which nothing more is recorded.
class Readers {
 public:
  /// Counts the pending readers of all that roots and the nodes `wanted` depend on; these two never count as having read.
  void count(const Tape& tape, const ValueTable& values, std::span<const int> wanted);
  void clear() { of_.clear(); }
  bool counted() const { return !of_.empty(); }
  /// Returns how many will still read a value.
  int of(int id) const { return of_[static_cast<std::size_t>(id)].left; }

  /// Records one reading of value `id`. Calls f(value) for the values without remaining readers: itself, or what it is a view
  /// of.
  template <class F>
  void has_been_read(const Tape& tape, int id, F f) {
    Of& value = of_[static_cast<std::size_t>(id)];
    if (--value.left > 0) return;
    f(id);
    if (value.view)
      for (int k = 0; k < tape[id].op->arity; ++k) has_been_read(tape, tape[id].in[k], f);
  }

 private:
  struct Of {
    int left = 0;
    bool view = false;  ///< reads its operands when it is read itself
  };
  void add(const Tape& tape, const ValueTable& values, int id);

  std::vector<Of> of_;     ///< by node
  std::vector<int> next_;  ///< nodes whose operands are to be counted
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/readers.ipp>
#endif
