#pragma once
#include <gradual/autodiff/ops/conv1d.hpp>
#include <gradual/autodiff/ops/max_pool2d.hpp>

namespace gradual {

/// series: [batch, channels, steps]; gives [batch, channels, (steps + 2·padding − size)/stride + 1], rounded down: the pool of
/// images of one row. Errors: another rank, series that are not samples, windows longer than the series, more padding than
/// half a window, a dilation.
[[gnu::cold]] constexpr Var max_pool1d(Var series, std::int64_t size, Walk walk = {}) {
  if (!detail::given("max_pool1d", {series}) || !numbers_of_one_type("max_pool1d", series, series)) return {};
  const Shape x = series.shape();
  walk = detail::side_by_side(size, walk);
  Pooling p;
  if (x.rank == 3 && x.batch_axis == 0) p = {{1, 1, 1}, detail::windows_along(x.extent[2], size, walk)};
  if (p.positions() == 0)
    return series.tape->fail(Message() << "max_pool1d: windows of " << size << " with " << walk << " do not fit series " << x
                                       << series.tape->in_layer({series}).view());
  return detail::without_rows(detail::max_pool(detail::of_one_row(series), p));
}

}  // namespace gradual
