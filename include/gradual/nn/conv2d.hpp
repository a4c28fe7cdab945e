#pragma once
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/nn/init.hpp>

namespace gradual::nn {

/// A convolution of images [batch, in, height, width] with square kernels, and a bias for each output channel.
/// Parameters: weight [out, in, kernel, kernel], bias [out].
class Conv2d {
 public:
  constexpr Conv2d(Scope scope, std::int64_t in, std::int64_t out, std::int64_t kernel, Walk walk = {})
      : Conv2d(scope, in, out, kernel, walk, init::linear_default(in * kernel * kernel)) {}
  constexpr Conv2d(Scope scope, std::int64_t in, std::int64_t out, std::int64_t kernel, Walk walk, Initializer weight)
      : weight_(scope.parameter("weight", Shape{out, in, kernel, kernel}, weight)),
        bias_(scope.parameter("bias", Shape{out}, init::linear_default(in * kernel * kernel))), out_(out), walk_(walk) {}

  constexpr Var operator()(Var x) const {
    const Var product = conv2d(x, weight_.on(x), walk_);  // in this order with every compiler
    return product + reshape(bias_.on(x), Shape{out_, 1, 1});
  }

  /// Such as for a penalty on them.
  constexpr const Parameter& weight() const { return weight_; }
  constexpr const Parameter& bias() const { return bias_; }

 private:
  Parameter weight_, bias_;
  std::int64_t out_;
  Walk walk_;
};

}  // namespace gradual::nn
