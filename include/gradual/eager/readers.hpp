#pragma once
#include <span>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/eager/value_table.hpp>

namespace gradual::eager {

/// Who still reads the values of a tape on which nothing more is recorded.
class Readers {
 public:
  /// Counts what has not been run of all that the nodes `wanted` are made of; these never have read, nor has who reads roots.
  void count(const Tape& tape, const ValueTable& values, std::span<const int> wanted);
  void clear() { of_.clear(); }
  bool counted() const { return !of_.empty(); }
  /// How many will read a value.
  int of(int id) const { return of_[static_cast<std::size_t>(id)].left; }

  /// Who reads value `id` has done so, once. Calls f(value) for those that nobody reads any more: itself, or what it is a
  /// view of.
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
    bool view = false;  ///< of what is read when it is read itself
  };
  void add(const Tape& tape, const ValueTable& values, int id);

  std::vector<Of> of_;     ///< by node
  std::vector<int> next_;  ///< whose operands are to be counted
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/readers.ipp>
#endif
