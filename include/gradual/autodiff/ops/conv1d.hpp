#pragma once
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/autodiff/ops/reshape.hpp>

namespace gradual {

namespace detail {

/// Views series [batch, channels, steps] as images of one row; `without_rows` does the reverse.
constexpr Var of_one_row(Var series) {
  Shape shape = series.shape();
  shape.extent[shape.rank++] = shape.extent[2];
  shape.extent[2] = 1;
  return reshape(series, shape);
}
constexpr Var without_rows(Var images) {
  Shape shape = images.shape();
  shape.extent[2] = shape.extent[3];
  shape.extent[--shape.rank] = 0;
  return reshape(images, shape);
}

/// Returns why a walk cannot be one over series; empty if it can.
constexpr Message wrong_over_series(const char* op, const Walk& walk) {
  for (const PerAxis number : {walk.stride, walk.padding, walk.dilation})
    if (number.rows != number.columns) return Message() << op << ": series have one axis, not " << walk;
  return {};
}

}  // namespace detail

/// Convolves series: [batch, channels, steps] with weights: [outputs, channels / groups, places] to [batch, outputs, …] with
/// (steps + 2·padding − 1 − (places − 1)·dilation)/stride + 1 steps, rounded down, as images of one row. If the series is
/// padded in front (`pad`), each output sees only its own step and earlier ones. Errors: those of `conv2d`; a walk
/// that differs by axis.
constexpr Var conv1d(Var series, Var weights, Walk walk = {}) {
  if (!detail::given("conv1d", {series, weights}) || !numbers_of_one_type("conv1d", series, weights)) return {};
  const Shape x = series.shape(), w = weights.shape();
  const auto fail = [&](Message text) { return series.tape->fail(text, {series, weights}); };
  if (x.rank != 3 || x.batch_axis != 0 || w.rank != 3 || w.batched())
    return fail(Message() << "conv1d: needs series [batch, channels, steps] and weights [outputs, channels, places], got " << x
                          << " and " << w);
  if (const Message wrong = detail::wrong_channels("conv1d", "series", x.extent[1], w, walk.groups); !wrong.empty())
    return fail(wrong);
  if (const Message wrong = detail::wrong_over_series("conv1d", walk); !wrong.empty()) return fail(wrong);
  const Convolution c{w.extent[1], w.extent[0] / walk.groups, {1, 1, 1}, detail::walk_along(1, x.extent[2], w.extent[2], walk),
                      false,       walk.groups};
  if (c.positions() == 0)
    return fail(Message() << "conv1d: a kernel of " << w.extent[2] << " does not fit series of " << x.extent[2]
                          << " steps with " << walk << detail::wrong_walk(walk, w.extent[2]));
  const Var result = detail::convolve(detail::of_one_row(series),
                                      reshape(weights, Shape{w.extent[0], w.extent[1], 1, w.extent[2]}), c);
  return detail::without_rows(result);
}

}  // namespace gradual
