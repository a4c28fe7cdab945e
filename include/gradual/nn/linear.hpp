#pragma once
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/nn/init.hpp>

namespace gradual::nn {

/// y = x·weight + bias for x: [batch, ..., in]. Parameters: weight [in, out], bias [out]. Errors: ShapeError for another last
/// extent.
class Linear {
 public:
  constexpr Linear(Scope scope, std::int64_t in, std::int64_t out)
      : Linear(scope, in, out, init::linear_default(in)) {}
  constexpr Linear(Scope scope, std::int64_t in, std::int64_t out, Initializer weight)
      : Linear(scope, in, out, weight, init::linear_default(in)) {}
  constexpr Linear(Scope scope, std::int64_t in, std::int64_t out, Initializer weight, Initializer bias)
      : weight_(scope.parameter("weight", Shape{in, out}, weight)), bias_(scope.parameter("bias", Shape{out}, bias)) {}

  constexpr Var operator()(Var x) const {
    const Var product = matmul(x, weight_.on(x));  // in this order with every compiler
    return product + bias_.on(x);
  }

  /// Such as for a penalty on them.
  constexpr const Parameter& weight() const { return weight_; }
  constexpr const Parameter& bias() const { return bias_; }

 private:
  Parameter weight_, bias_;
};

}  // namespace gradual::nn
