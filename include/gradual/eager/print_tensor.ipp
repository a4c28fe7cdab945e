#pragma once
#include <gradual/eager/print_tensor.hpp>

#include <iomanip>
#include <ostream>

#include <gradual/core/number_text.hpp>

namespace gradual::detail {

inline constexpr std::int64_t shown_edge = 3;  ///< rows and columns shown at each end of a long axis

inline void print_axis(std::ostream& out, const Tensor& tensor, int axis, std::int64_t first, int indent) {
  const Shape& shape = tensor.shape();
  if (axis == shape.rank) {
    out << std::setw(9) << brief_text(tensor[first], 4);
    return;
  }
  const std::int64_t extent = shape.extent[axis], step = shape.product(axis + 1, shape.rank);
  const bool columns = axis + 1 == shape.rank;
  out << "[";
  for (std::int64_t i = 0; i < extent; ++i) {
    if (i > 0) out << (columns ? ' ' : '\n');
    for (int s = 0; s <= indent && i > 0 && !columns; ++s) out << ' ';
    if (extent > 2 * shown_edge && i == shown_edge) {
      out << "...";
      i = extent - shown_edge - 1;
    } else {
      print_axis(out, tensor, axis + 1, first + i * step, indent + 1);
    }
  }
  out << "]";
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  Message shape;
  shape << tensor.shape();
  out << name_of(tensor.dtype()) << shape.view() << " on " << tensor.device().name() << "\n";
  detail::print_axis(out, tensor, 0, 0, 0);
  return out;
}

}  // namespace gradual
