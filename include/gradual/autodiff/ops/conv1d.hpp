#pragma once
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/autodiff/ops/reshape.hpp>

namespace gradual {

/// series: [batch, channels, steps], weights: [outputs, channels, places]; gives [batch, outputs, …] with
/// (steps + 2·padding − 1 − (places − 1)·dilation)/stride + 1 steps, rounded down: images of one row. Of a series that is
/// padded before (`pad`), each output sees its own step and earlier ones. Errors: types that differ, ranks other than three,
/// series that are not samples, other numbers of channels, a kernel longer than the series, a negative stride, as much padding
/// as kernel.
[[gnu::cold]] constexpr Var conv1d(Var series, Var weights, Walk walk = {}) {
  if (!detail::given("conv1d", {series, weights}) || !numbers_of_one_type("conv1d", series, weights)) return {};
  const Shape x = series.shape(), w = weights.shape();
  const auto fail = [&](Message text) { return series.tape->fail(text << series.tape->in_layer({series, weights}).view()); };
  if (x.rank != 3 || x.batch_axis != 0 || w.rank != 3 || w.batched())
    return fail(Message() << "conv1d: needs series [batch, channels, steps] and weights [outputs, channels, places], got " << x
                          << " and " << w);
  if (x.extent[1] != w.extent[1])
    return fail(Message() << "conv1d: series have " << x.extent[1] << " channels, weights are for " << w.extent[1]);
  const Convolution c{x.extent[1], w.extent[0], {1, 1, 1}, detail::walk_along(x.extent[2], w.extent[2], walk), false};
  if (c.positions() == 0)
    return fail(Message() << "conv1d: a kernel of " << w.extent[2] << " does not fit series of " << x.extent[2]
                          << " steps with " << walk);
  const Var rows = reshape(series, Shape::per_sample({x.extent[1], 1, x.extent[2]}));
  const Var result = detail::convolve(rows, reshape(weights, Shape{w.extent[0], w.extent[1], 1, w.extent[2]}), c);
  return reshape(result, Shape::per_sample({w.extent[0], c.x.out}));
}

}  // namespace gradual
