#pragma once
#include <gradual/autodiff/ops/conv1d.hpp>

// Shared by pools: windows that lie side by side unless a stride is given.

namespace gradual::detail {

/// Whether windows are padded by more than half of them.
constexpr bool too_padded(PerAxis size, const Walk& walk) {
  return walk.padding.rows > size.rows / 2 || walk.padding.columns > size.columns / 2;
}

/// Records pool(images, windows of rows, windows of columns); series [batch, channels, steps] are images of one row.
template <int Axes, class Pool>
constexpr Var pooled(const char* op, Var images, PerAxis size, Walk walk, Pool pool) {
  if (!given(op, {images}) || !numbers_of_one_type(op, images, images)) return {};
  const Shape x = images.shape();
  walk.stride = walk.stride_or(size);
  if (const Message wrong = Axes == 1 ? wrong_over_series(op, walk) : Message(); !wrong.empty())
    return images.tape->fail(wrong, {images});
  const bool pools = walk.dilation == 1 && walk.groups == 1 && !too_padded(size, walk);
  const bool fits = pools && x.rank == Axes + 2 && x.batch_axis == 0;
  const auto along = [&](int axis) {
    return fits ? walk_along(axis, x.extent[Axes + axis], size[axis], walk) : ConvolutionAxis{};
  };
  const ConvolutionAxis rows = Axes == 1 ? ConvolutionAxis{1, 1, 1} : along(0), columns = along(1);
  if (rows.out == 0 || columns.out == 0) {
    Message text;
    text << op << ": windows of " << size.rows;
    if (Axes == 2) text << " x " << size.columns;
    const char* const wrong = walk.dilation != 1 || walk.groups != 1 ? ": pools have no dilation and no groups"
                              : too_padded(size, walk)               ? ": pools can be padded by half a window at most"
                                                                     : "";
    return images.tape->fail(text << " with " << walk << " do not fit " << (Axes == 1 ? "series " : "images ") << x
                                  << wrong, {images});
  }
  return Axes == 1 ? without_rows(pool(of_one_row(images), rows, columns)) : pool(images, rows, columns);
}

}  // namespace gradual::detail
