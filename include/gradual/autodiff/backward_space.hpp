#pragma once
#include <vector>

#include <gradual/autodiff/ops/joined_in_pairs.hpp>
#include <gradual/autodiff/sum_of_uses.hpp>

namespace gradual {

/// The working memory of `backward`, for callers that reuse it.
struct BackwardSpace {
  std::vector<int> targets;
  std::vector<char> wanted;
  std::vector<Var> adjoint;  ///< by node id; an invalid Var where there is none
  std::vector<int> slices;   ///< by node id: the slice of it that was passed last, or −1
  std::vector<int> sibling;  ///< by slice: the slice of the same value that was passed before it
  std::vector<detail::Piece> pieces;  ///< the adjoints of the slices of one value
  SumsOfUses uses;           ///< of values without samples
};

}  // namespace gradual
