#pragma once
#include <gradual/autodiff/ops/conv1d.hpp>
#include <gradual/autodiff/ops/max_pool2d.hpp>

namespace gradual {

/// series: [batch, channels, steps]; gives [batch, channels, (steps + 2·padding − size)/stride + 1], rounded down: the pool of
/// images of one row. Errors: another rank, series that are not samples, windows longer than the series, more padding than
/// half a window, a dilation.
constexpr Var max_pool1d(Var series, std::int64_t size, Walk walk = {}) {
  return detail::pooled<1>("max_pool1d", series, size, walk, detail::max_pool);
}

}  // namespace gradual
