#pragma once
#include <gradual/autodiff/ops/conv1d.hpp>

// Shared by pools: windows that lie side by side unless a stride is given.

namespace gradual::detail {

/// Returns one axis of windows of `size` elements; without outputs if they do not fit.
constexpr ConvolutionAxis windows_along(std::int64_t in, std::int64_t size, Walk walk) {
  const bool pools = walk.padding <= size / 2 && walk.dilation == 1 && walk.groups == 1;
  return pools ? walk_along(in, size, walk) : ConvolutionAxis{};
}

/// Records pool(images, windows of rows, windows of columns); series [batch, channels, steps] are images of one row.
template <int Axes, class Pool>
constexpr Var pooled(const char* op, Var images, std::int64_t size, Walk walk, Pool pool) {
  if (!given(op, {images}) || !numbers_of_one_type(op, images, images)) return {};
  const Shape x = images.shape();
  if (walk.stride == 0) walk.stride = size;
  const bool fits = x.rank == Axes + 2 && x.batch_axis == 0;
  const auto along = [&](int axis) { return fits ? windows_along(x.extent[axis], size, walk) : ConvolutionAxis{}; };
  const ConvolutionAxis rows = Axes == 1 ? ConvolutionAxis{1, 1, 1} : along(2), columns = along(Axes + 1);
  if (rows.out == 0 || columns.out == 0) {
    Message text;
    text << op << ": windows of " << size;
    if (Axes == 2) text << " x " << size;
    const char* const wrong = walk.dilation != 1 || walk.groups != 1 ? ": pools have no dilation and no groups"
                              : walk.padding > size / 2              ? ": pools can be padded by half a window at most"
                                                                     : "";
    return images.tape->fail(text << " with " << walk << " do not fit " << (Axes == 1 ? "series " : "images ") << x
                                  << wrong, {images});
  }
  return Axes == 1 ? without_rows(pool(of_one_row(images), rows, columns)) : pool(images, rows, columns);
}

}  // namespace gradual::detail
