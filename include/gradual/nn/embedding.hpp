#pragma once
#include <gradual/autodiff/ops/gather.hpp>
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/nn/init.hpp>

namespace gradual::nn {

/// A row of learned numbers for each index: [batch, ...] of int32 below `count` to [batch, ..., width].
/// Parameter: weight [count, width], normal with deviation 1. Errors: TypeError for indices that are not int32; when it runs,
/// DataError for one outside the table.
class Embedding {
 public:
  constexpr Embedding(Scope scope, std::int64_t count, std::int64_t width)
      : Embedding(scope, count, width, init::normal(1)) {}
  constexpr Embedding(Scope scope, std::int64_t count, std::int64_t width, Initializer weight)
      : weight_(scope.parameter("weight", Shape{count, width}, weight)) {}

  constexpr Var operator()(Var index) const { return gather(weight_.on(index), index); }

  /// How well x fits each row, for an output layer that shares the table (Press and Wolf 2017): [batch, ..., width] to
  /// [batch, ..., count].
  constexpr Var scores(Var x) const { return matmul(x, weight_.on(x), false, true); }

  /// Such as for a penalty on it.
  constexpr const Parameter& weight() const { return weight_; }

 private:
  Parameter weight_;
};

}  // namespace gradual::nn
