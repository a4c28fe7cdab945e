#pragma once
#include <gradual/autodiff/ops/conv1d.hpp>
#include <gradual/autodiff/ops/max_pool2d.hpp>

namespace gradual {

/// Returns the largest element of each window. series: [batch, channels, steps]; gives [batch, channels, (steps + 2·padding −
/// size)/stride + 1], rounded down: `max_pool2d` of images of one row. Errors: another rank, series that are not samples,
/// windows longer than the padded series, more padding than half a window, a dilation, groups, a walk that differs by axis.
constexpr Var max_pool1d(Var series, std::int64_t size, Walk walk = {}) {
  return detail::pooled<1>("max_pool1d", series, size, walk, detail::max_pool);
}

}  // namespace gradual
