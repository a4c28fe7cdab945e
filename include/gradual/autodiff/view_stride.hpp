#pragma once
#include <gradual/autodiff/ops.hpp>

namespace gradual::detail {

/// Writes how far apart neighbours along each axis lie in row-major memory of `batch` samples.
constexpr void lay_row_major(const Shape& shape, std::int64_t batch, std::int64_t* stride) {
  std::int64_t step = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    stride[i] = step;
    step *= shape.extent_of(i, batch);
  }
}

/// Returns how far apart neighbours along an axis of a view lie in its operand's memory, whose strides are `row_major`; for an
/// iota, which has no memory, how much they differ.
constexpr std::int64_t view_stride(const Node& view, const Shape& source, const std::int64_t* row_major, int axis) {
  switch (view.op->kind) {
    case Kind::iota:
      return axis == view.attributes.integer[0] ? 1 : 0;
    case Kind::transpose:
      return row_major[Transpose::source_axis(view.attributes, axis)];
    case Kind::slice:
    case Kind::pad:
      return row_major[axis];
    default: {  // broadcast
      const int a = axis - (view.shape.rank - source.rank);
      return a >= 0 && (source.extent[a] != 1 || a == source.batch_axis) ? row_major[a] : 0;
    }
  }
}

}  // namespace gradual::detail
