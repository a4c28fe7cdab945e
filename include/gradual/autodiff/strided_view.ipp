#pragma once
#include <gradual/autodiff/strided_view.hpp>

#include <gradual/autodiff/ops.hpp>

namespace gradual {

GRADUAL_ONCE StridedView::StridedView(const Node& node, const Shape& source, std::int64_t batch) {
  std::int64_t contiguous[max_rank]{}, step = 1;
  for (int i = source.rank - 1; i >= 0; --i) {
    contiguous[i] = step;
    step *= source.extent_of(i, batch);
  }
  for (int i = 0; i < node.shape.rank; ++i) {
    std::int64_t along = 0;
    if (node.op->kind == Kind::iota) along = i == node.attributes.integer[0] ? 1 : 0;
    else if (node.op->kind == Kind::transpose) along = contiguous[Transpose::source_axis(node.attributes, i)];
    else if (node.op->kind == Kind::slice) along = contiguous[i];
    else if (const int a = i - (node.shape.rank - source.rank); a >= 0 && (source.extent[a] != 1 || a == source.batch_axis))
      along = contiguous[a];
    append(node.shape.extent_of(i, batch), along);
  }
  if (node.op->kind == Kind::slice) offset = node.attributes.integer[1] * contiguous[node.attributes.integer[0]];
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
