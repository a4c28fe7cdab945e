#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/eager/value_table.hpp>

namespace gradual::eager {

/// A value that fills part of an axis of another value, from place `first` on.
struct JoinPiece {
  int node = -1;
  std::int64_t first = 0;
};

/// A sum of zero-padded values that fill an axis side by side.
struct Join {
  int axis = -1;
  double zero = 0;  ///< with the sign of the padding; added to each piece
  std::span<const JoinPiece> pieces;  ///< in any order; none: not a join
};

/// The joins of a tape, such as `concat`, `stack` and the adjoint of many slices: each piece is written to its place, without
/// computing the paddings or their partial sums.
class Joins {
 public:
  /// Finds the joins among `needed`, nodes in order, and removes from it what only joins would read.
  void find(const Tape& tape, const ValueTable& values, std::vector<int>& needed);
  /// Returns the join at a needed node.
  Join of(int id) const;

 private:
  /// The places of an axis that the pieces of a padding, or of a sum of paddings, fill.
  struct Filled {
    int axis = -1;  ///< −1: neither
    std::int64_t first = 0, last = 0;
    bool negative = false;  ///< padded with −0
    bool through = false;   ///< of a padding: its pieces are those of its operand
    bool inside = false;    ///< part of a join
    std::size_t begin = 0, count = 0;  ///< of a join's pieces, in `pieces_`
  };
  Filled& at(int id) { return filled_[static_cast<std::size_t>(id)]; }
  const Filled& at(int id) const { return filled_[static_cast<std::size_t>(id)]; }
  /// Whether a needed value has only one reader, which can read its parts instead, and is not itself kept.
  bool is_part(const ValueTable& values, int id) const;
  Filled filled_by(const Tape& tape, const ValueTable& values, int id) const;
  void collect(const Tape& tape, int join);

  std::vector<Filled> filled_;  ///< by node, for needed nodes
  std::vector<JoinPiece> pieces_, path_;
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/joins.ipp>
#endif
