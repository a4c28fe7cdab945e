#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/eager/value_table.hpp>

namespace gradual::eager {

/// A value that lies along an axis of another, from the place `first` on.
struct JoinPiece {
  int node = -1;
  std::int64_t first = 0;
};

/// A sum of paddings with zeros that fill an axis side by side.
struct Join {
  int axis = -1;
  double zero = 0;  ///< of the sign that they are padded with, which is added to each piece
  std::span<const JoinPiece> pieces;  ///< in any order; none: it is no join
};

/// The joins of a tape, such as `concat`, `stack` and the adjoint of many slices: each piece goes to its place, and neither the
/// paddings nor what they are added up to on the way is needed.
class Joins {
 public:
  /// Finds those among `needed`, nodes in order, and takes out of it what only they would read.
  void find(const Tape& tape, const ValueTable& values, std::vector<int>& needed);
  /// What a node is that was needed.
  Join of(int id) const;

 private:
  /// What places of an axis the pieces of a padding, or of a sum of some, fill.
  struct Filled {
    int axis = -1;  ///< −1: it is neither
    std::int64_t first = 0, last = 0;
    bool negative = false;  ///< padded with −0
    bool through = false;   ///< of a padding: pieces are those of its operand
    bool inside = false;    ///< of a join
    std::size_t begin = 0, count = 0;  ///< of a join, in `pieces_`
  };
  Filled& at(int id) { return filled_[static_cast<std::size_t>(id)]; }
  const Filled& at(int id) const { return filled_[static_cast<std::size_t>(id)]; }
  /// Whether a value of what is needed has one reader, who can take what it is made of instead.
  bool is_part(const ValueTable& values, int id) const;
  Filled filled_by(const Tape& tape, const ValueTable& values, int id) const;
  void collect(const Tape& tape, int join);

  std::vector<Filled> filled_;  ///< by node, of what is needed
  std::vector<JoinPiece> pieces_, path_;
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/joins.ipp>
#endif
