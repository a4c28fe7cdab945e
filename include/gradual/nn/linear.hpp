#pragma once
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/nn/init.hpp>
#include <gradual/nn/layer_options.hpp>

namespace gradual::nn {

/// y = x·weight + bias for x: [batch, ..., in]. Parameters: weight [in, out], bias [out], which options may leave out.
/// Errors: ShapeError for another last extent.
class Linear {
 public:
  constexpr Linear(Scope scope, std::int64_t in, std::int64_t out, LayerOptions options = {})
      : Linear(scope, in, out, init::linear_default(in), options) {}
  constexpr Linear(Scope scope, std::int64_t in, std::int64_t out, Initializer weight, LayerOptions options = {})
      : weight_(scope.parameter("weight", Shape{in, out}, weight)) {
    if (options.bias) bias_ = scope.parameter("bias", Shape{out}, init::linear_default(in));
  }
  constexpr Linear(Scope scope, std::int64_t in, std::int64_t out, Initializer weight, Initializer bias)
      : weight_(scope.parameter("weight", Shape{in, out}, weight)), bias_(scope.parameter("bias", Shape{out}, bias)) {}

  constexpr Var operator()(Var x) const {
    const Var product = matmul(x, weight_);
    return bias_.exists() ? product + bias_ : product;
  }

  /// For example for a penalty on them.
  constexpr const Parameter& weight() const { return weight_; }
  constexpr const Parameter& bias() const { return bias_; }

 private:
  Parameter weight_, bias_;
};

}  // namespace gradual::nn
