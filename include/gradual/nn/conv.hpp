#pragma once
#include <type_traits>

#include <gradual/autodiff/ops/conv1d.hpp>
#include <gradual/nn/init.hpp>
#include <gradual/nn/layer_options.hpp>

namespace gradual::detail {

/// Returns the number of channels per group; an invalid number of groups is rejected where the layer is used.
constexpr std::int64_t of_group(std::int64_t channels, const Walk& walk) {
  return walk.groups > 1 && walk.groups <= channels ? channels / walk.groups : channels;
}

/// The parameters of convolutions and transposed convolutions: weights [channels, channels per group, kernel, ...] and, unless
/// options leave it out, a bias for each output channel.
template <int Axes>
class Kernels {
  static_assert(Axes == 1 || Axes == 2);

 public:
  /// A kernel of series has one extent, one of images a number of rows and one of columns.
  using Extent = std::conditional_t<Axes == 1, std::int64_t, PerAxis>;

  /// For example for a penalty on them.
  constexpr const Parameter& weight() const { return weight_; }
  constexpr const Parameter& bias() const { return bias_; }

 protected:
  constexpr Kernels(Scope scope, const Shape& channels, PerAxis kernel, std::int64_t out, Initializer weight,
                    nn::LayerOptions options)
      : weight_(scope.parameter("weight", along_axes(channels, kernel), weight)), out_(out) {
    if (options.bias) bias_ = scope.parameter("bias", Shape{out}, default_weight(channels.extent[1], kernel));
  }

  constexpr std::int64_t outputs() const { return out_; }
  constexpr Var plus_bias(Var product, Var x) const {
    return bias_.exists() ? product + reshape(bias_.on(x), along_axes({out_}, 1)) : product;
  }

  static constexpr Initializer default_weight(std::int64_t channels_of_group, PerAxis kernel) {
    return init::linear_default(channels_of_group * (Axes == 1 ? kernel.rows : kernel.rows * kernel.columns));
  }

 private:
  static constexpr Shape along_axes(Shape shape, PerAxis extent) {
    for (int axis = 0; axis < Axes; ++axis) shape.extent[shape.rank++] = extent[axis];
    return shape;
  }

  Parameter weight_, bias_;
  std::int64_t out_;
};

}  // namespace gradual::detail

namespace gradual::nn {

/// A convolution of series or images [batch, in, ...], and a bias for each output channel. `kernel`: of images, {1, 64} for one
/// row of 64 columns, or 3 for 3 x 3. Parameters: weight [out, in / groups, kernel, ...], bias [out], which options may leave
/// out. Errors: as for `conv1d` and `conv2d`.
template <int Axes>
class Conv : public detail::Kernels<Axes> {
  using Kernels = detail::Kernels<Axes>;
  using Extent = typename Kernels::Extent;

 public:
  constexpr Conv(Scope scope, std::int64_t in, std::int64_t out, Extent kernel, Walk walk = {}, LayerOptions options = {})
      : Conv(scope, in, out, kernel, walk, Kernels::default_weight(detail::of_group(in, walk), kernel), options) {}
  constexpr Conv(Scope scope, std::int64_t in, std::int64_t out, Extent kernel, Walk walk, Initializer weight,
                 LayerOptions options = {})
      : Kernels(scope, {out, detail::of_group(in, walk)}, kernel, out, weight, options), walk_(walk) {}

  constexpr Var operator()(Var x) const {
    const Var weight = this->weight().on(x);  // recorded before the bias by every compiler
    if constexpr (Axes == 1) return this->plus_bias(conv1d(x, weight, walk_), x);
    else return this->plus_bias(conv2d(x, weight, walk_), x);
  }

 private:
  Walk walk_;
};

using Conv1d = Conv<1>;
using Conv2d = Conv<2>;

}  // namespace gradual::nn
