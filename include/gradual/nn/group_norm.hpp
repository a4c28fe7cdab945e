#pragma once
#include <gradual/nn/layer_norm.hpp>

namespace gradual::nn {

/// y = (x − mean)/√(variance + ε) · scale + shift over each group of channels and all their positions (Wu and He 2018), for
/// x: [batch, channels, ...]: per sample, where batch normalisation spans many. Parameters: scale [channels], initially 1;
/// shift [channels], initially 0. Errors: ShapeError for another number of channels, or one that is not a
/// multiple of the groups, or an ε below 0 or NaN.
class GroupNorm {
 public:
  constexpr GroupNorm(Scope scope, std::int64_t groups, std::int64_t channels, double epsilon = 1e-5)
      : scale_(scope.parameter("scale", Shape{channels}, init::constant(1))),
        shift_(scope.parameter("shift", Shape{channels}, init::constant(0))), groups_(groups), channels_(channels),
        epsilon_(epsilon) {}

  constexpr Var operator()(Var x) const {
    const Var scale = scale_.on(x);
    if (!x.valid() || !scale.valid() || !detail::check_epsilon(x, scale_, epsilon_, "group_norm")) return {};
    const Shape shape = x.shape();
    if (shape.rank < 2 || shape.batch_axis != 0 || shape.extent[1] != channels_ || groups_ < 1 || channels_ % groups_ != 0)
      return x.tape->fail(Message() << "group_norm: " << channels_ << " channels in " << groups_ << " groups, got "
                                    << shape, {scale});
    Shape by_group = {shape.extent[0], groups_, channels_ / groups_ * shape.product(2, shape.rank)}, by_channel = {channels_};
    by_group.batch_axis = 0;
    while (by_channel.rank + 1 < shape.rank) by_channel.extent[by_channel.rank++] = 1;
    const Var normal = in_float(x, [&](Var in) {
      return reshape(detail::normalised(reshape(in, by_group), epsilon_), shape);
    });
    const Var scaled = normal * reshape(scale, by_channel);
    return scaled + reshape(shift_.on(x), by_channel);
  }

 private:
  Parameter scale_, shift_;
  std::int64_t groups_, channels_;
  double epsilon_;
};

}  // namespace gradual::nn
