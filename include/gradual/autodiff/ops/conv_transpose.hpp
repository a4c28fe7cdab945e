#pragma once
#include <gradual/autodiff/ops/conv1d.hpp>

namespace gradual {

namespace detail {

/// Returns the axis (0: of rows) of the convolution that takes the result of the transposed one back to `in` elements; without
/// elements if there is none.
constexpr ConvolutionAxis walk_back_along(int axis, std::int64_t in, std::int64_t kernel, const Walk& walk,
                                          std::int64_t output_padding) {
  const std::int64_t stride = walk.stride_or(1)[axis], padding = walk.padding[axis], dilation = walk.dilation[axis];
  for (const std::int64_t number : {kernel, stride, padding, dilation, output_padding, in >> 16})
    if (number < 0 || number > 0xffff) return {};
  const std::int64_t image = (in - 1) * stride + (kernel - 1) * dilation + 1 - 2 * padding + output_padding;
  const ConvolutionAxis along = walk_along(axis, image, kernel, walk);
  return image > 0 && along.out == in ? along : ConvolutionAxis{};
}

template <int Axes>
constexpr Var conv_transpose(const char* op, Var images, Var weights, Walk walk, PerAxis output_padding) {
  if (!given(op, {images, weights}) || !numbers_of_one_type(op, images, weights)) return {};
  const Shape x = images.shape(), w = weights.shape();
  const auto fail = [&](Message text) { return images.tape->fail(text, {images, weights}); };
  if (x.rank != Axes + 2 || x.batch_axis != 0 || w.rank != Axes + 2 || w.batched())
    return fail(Message() << op << ": needs "
                          << (Axes == 1 ? "series [batch, channels, steps] and weights [channels, outputs, places]"
                                        : "images [batch, channels, height, width] and weights [channels, outputs, rows, "
                                          "columns]")
                          << ", got " << x << " and " << w);
  if (const Message wrong = Axes == 1 ? wrong_over_series(op, walk) : Message(); !wrong.empty()) return fail(wrong);
  const std::int64_t channels = x.extent[1];
  if (channels != w.extent[0])
    return fail(Message() << op << (Axes == 1 ? ": series" : ": images") << " have " << channels
                          << " channels, weights are for " << w.extent[0]);
  if (walk.groups < 1 || channels % walk.groups != 0)
    return fail(Message() << op << ": " << channels << " channels are not shared out evenly among " << walk.groups
                          << " groups");
  for (const int axis : {0, 1}) {
    const std::int64_t more = output_padding[axis], stride = walk.stride_or(1)[axis];
    if (more < 0 || (stride > 0 && more >= stride))
      return fail(Message() << op << ": output_padding " << more << " must be at least 0 and below the stride of " << stride);
  }
  const auto along = [&](int axis) {
    return walk_back_along(axis, x.extent[Axes + axis], w.extent[Axes + axis], walk, output_padding[axis]);
  };
  const Convolution back{w.extent[1], channels / walk.groups, Axes == 1 ? ConvolutionAxis{1, 1, 1} : along(0), along(1),
                         false,       walk.groups};
  if (back.positions() == 0)
    return fail(Message() << op << ": weights " << w << " with " << walk << " give no valid output for " << x);
  if constexpr (Axes == 2) return convolve(images, weights, adjoint(back));
  const Var of_rows = reshape(weights, Shape{w.extent[0], w.extent[1], 1, w.extent[2]});
  return without_rows(convolve(of_one_row(images), of_rows, adjoint(back)));
}

}  // namespace detail

/// Applies the adjoint of `conv2d` with these weights and this walk, for decoders: each element of the images adds its kernel,
/// times itself, to the result. images: [batch, channels, height, width], weights: [channels, outputs / groups, rows, columns];
/// gives [batch, outputs, …] with (height − 1)·stride − 2·padding + (rows − 1)·dilation + 1 + output_padding rows: a strided
/// convolution takes images of several sizes to one size, and `output_padding`, below the stride, selects among them. Errors:
/// those of `conv2d`; an output_padding out of range; a result without elements.
constexpr Var conv_transpose2d(Var images, Var weights, Walk walk = {}, PerAxis output_padding = 0) {
  return detail::conv_transpose<2>("conv_transpose2d", images, weights, walk, output_padding);
}
/// Does the same for series [batch, channels, steps] with weights [channels, outputs / groups, places]. Errors: also a walk
/// that differs by axis.
constexpr Var conv_transpose1d(Var series, Var weights, Walk walk = {}, std::int64_t output_padding = 0) {
  return detail::conv_transpose<1>("conv_transpose1d", series, weights, walk, output_padding);
}

}  // namespace gradual
