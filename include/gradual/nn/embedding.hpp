#pragma once
#include <gradual/autodiff/ops/gather.hpp>
#include <gradual/nn/init.hpp>

namespace gradual::nn {

/// A row of learned numbers for each index: [batch, ...] of int32 below `count` to [batch, ..., width].
/// Parameter: weight [count, width], normal with deviation 1.
class Embedding {
 public:
  constexpr Embedding(Scope scope, std::int64_t count, std::int64_t width)
      : Embedding(scope, count, width, init::normal(1)) {}
  constexpr Embedding(Scope scope, std::int64_t count, std::int64_t width, Initializer weight)
      : weight_(scope.parameter("weight", Shape{count, width}, weight)) {}

  constexpr Var operator()(Var index) const { return gather(weight_.on(index), index); }

 private:
  Parameter weight_;
};

}  // namespace gradual::nn
