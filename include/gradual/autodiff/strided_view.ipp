#pragma once
#include <gradual/autodiff/strided_view.hpp>

#include <gradual/autodiff/view_stride.hpp>

namespace gradual {

GRADUAL_ONCE StridedView::StridedView(const Node& node, const Shape& source, std::int64_t batch) {
  std::int64_t row_major[max_rank]{};
  detail::lay_row_major(source, batch, row_major);
  for (int i = 0; i < node.shape.rank; ++i)
    append(node.shape.extent_of(i, batch), detail::view_stride(node, source, row_major, i));
  if (node.op->kind == Kind::slice) offset = node.attributes.integer[1] * row_major[node.attributes.integer[0]];
}

GRADUAL_ONCE std::int64_t StridedView::period() const {
  if (rank == 0 || stride[0] != 0) return 0;
  std::int64_t elements = 1;
  for (int i = 1; i < rank; ++i) elements *= extent[i];
  return elements;
}

GRADUAL_ONCE void StridedView::append(std::int64_t e, std::int64_t s) {
  if (e == 1) return;
  if (rank > 0 && stride[rank - 1] == s * e) {
    extent[rank - 1] *= e;
    stride[rank - 1] = s;
  } else {
    extent[rank] = e;
    stride[rank++] = s;
  }
}

}  // namespace gradual
