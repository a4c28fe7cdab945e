#pragma once
#include <gradual/autodiff/ops/conv1d.hpp>
#include <gradual/nn/init.hpp>

namespace gradual::nn {

/// A convolution of series or images [batch, in, ...] with kernels of as many places along each axis, and a bias for each
/// output channel. Parameters: weight [out, in / groups, kernel, ...], bias [out]. Errors: as of `conv2d`.
template <int Axes>
class Conv {
  static_assert(Axes == 1 || Axes == 2);

 public:
  constexpr Conv(Scope scope, std::int64_t in, std::int64_t out, std::int64_t kernel, Walk walk = {})
      : Conv(scope, in, out, kernel, walk, init::linear_default(taps(in, kernel, walk))) {}
  constexpr Conv(Scope scope, std::int64_t in, std::int64_t out, std::int64_t kernel, Walk walk, Initializer weight)
      : weight_(scope.parameter("weight", along_axes({out, met(in, walk)}, kernel), weight)),
        bias_(scope.parameter("bias", Shape{out}, init::linear_default(taps(in, kernel, walk)))), out_(out), walk_(walk) {}

  constexpr Var operator()(Var x) const {
    Var product;  // first: in this order with every compiler
    if constexpr (Axes == 1) product = conv1d(x, weight_.on(x), walk_);
    else product = conv2d(x, weight_.on(x), walk_);
    return product + reshape(bias_.on(x), along_axes({out_}, 1));
  }

  /// Such as for a penalty on them.
  constexpr const Parameter& weight() const { return weight_; }
  constexpr const Parameter& bias() const { return bias_; }

 private:
  /// Channels that one output meets; a wrong number of groups is refused where the layer is used.
  static constexpr std::int64_t met(std::int64_t in, const Walk& walk) {
    return walk.groups > 1 && walk.groups <= in ? in / walk.groups : in;
  }
  static constexpr std::int64_t taps(std::int64_t in, std::int64_t kernel, const Walk& walk) {
    return met(in, walk) * (Axes == 1 ? kernel : kernel * kernel);
  }
  static constexpr Shape along_axes(Shape shape, std::int64_t extent) {
    for (int axis = 0; axis < Axes; ++axis) shape.extent[shape.rank++] = extent;
    return shape;
  }

  Parameter weight_, bias_;
  std::int64_t out_;
  Walk walk_;
};

using Conv1d = Conv<1>;
using Conv2d = Conv<2>;

}  // namespace gradual::nn
