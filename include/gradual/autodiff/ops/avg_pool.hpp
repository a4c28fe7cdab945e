#pragma once
#include <gradual/autodiff/ops/constant.hpp>
#include <gradual/autodiff/ops/pooled.hpp>

namespace gradual {

namespace detail {

/// Returns the mean of each window of images [batch, channels, rows, columns]: a convolution of each channel with ones.
constexpr Var avg_pool(Var images, const ConvolutionAxis& y, const ConvolutionAxis& x) {
  return in_float(images, [&](Var of) {
    const std::int64_t channels = of.shape().extent[1];
    const Var ones = constant_like(of, Shape{channels, 1, y.kernel, x.kernel}, 1);
    return convolve(of, ones, {1, 1, y, x, false, channels}) * (1.0 / static_cast<double>(y.kernel * x.kernel));
  });
}

}  // namespace detail

/// Returns the mean of each window of images [batch, channels, height, width], padding included as zeros. Shapes and errors:
/// those of `max_pool2d`. Sums are multiplied by 1/places, where `mean` divides; it takes as long as a convolution of each
/// channel. The mean of a whole channel is mean(images, {2, 3}).
constexpr Var avg_pool2d(Var images, PerAxis size, Walk walk = {}) {
  return detail::pooled<2>("avg_pool2d", images, size, walk, detail::avg_pool);
}
/// Does the same for series [batch, channels, steps].
constexpr Var avg_pool1d(Var series, std::int64_t size, Walk walk = {}) {
  return detail::pooled<1>("avg_pool1d", series, size, walk, detail::avg_pool);
}

}  // namespace gradual
