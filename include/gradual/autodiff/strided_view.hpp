#pragma once
#include <cstdint>

#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// A value read from another value's memory or, for iota, from none: an offset for each element, linear in its indices. Extents
/// include the batch; axes of extent 1 are dropped, neighbours merged where one stride serves both.
struct StridedView {
  int rank = 0;
  std::int64_t extent[max_rank]{}, stride[max_rank]{};
  std::int64_t offset = 0;  ///< of the first element

  StridedView() = default;
  /// Makes the view of a broadcast, transpose, slice or iota whose operand has shape `source`.
  StridedView(const Node& node, const Shape& source, std::int64_t batch);

  /// Adds an axis inside the others.
  void append(std::int64_t e, std::int64_t s);

  /// Returns the offset of an element.
  GRADUAL_HD std::int64_t place(std::int64_t element) const {
    std::int64_t at = offset;
    GRADUAL_UNROLL(1)
    for (int i = rank - 1; i > 0; --i) {
      at += element % extent[i] * stride[i];
      element /= extent[i];
    }
    return rank > 0 ? at + element * stride[0] : at;
  }
  /// Whether all elements are the first one.
  bool single() const { return rank == 0 || (rank == 1 && stride[0] == 0); }
  /// Returns the number of elements after which they repeat; 0: they do not.
  std::int64_t period() const;
};

/// Computes out[i] = read(offset of element begin + i) for `count` elements of the view, perhaps none.
template <class E, class Read>
void read_view(const StridedView& view, std::int64_t begin, std::int64_t count, E* out, Read read) {
  if (count == 0) return;
  if (view.rank == 0) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = read(view.offset);
    return;
  }
  const int last = view.rank - 1;
  std::int64_t at[max_rank]{}, offset = view.offset, rest = begin;
  for (int i = last; i >= 0; --i) {
    at[i] = rest % view.extent[i];
    rest /= view.extent[i];
    offset += at[i] * view.stride[i];
  }
  const std::int64_t stride = view.stride[last];
  while (count > 0) {
    const std::int64_t left = view.extent[last] - at[last], run = count < left ? count : left;
    if (stride == 0) {
      const E value = read(offset);
      for (std::int64_t i = 0; i < run; ++i) out[i] = value;
    } else if (stride == 1) {
      for (std::int64_t i = 0; i < run; ++i) out[i] = read(offset + i);
    } else {
      for (std::int64_t i = 0; i < run; ++i) out[i] = read(offset + i * stride);
    }
    out += run;
    count -= run;
    offset -= at[last] * stride;
    at[last] = 0;
    for (int i = last - 1; i >= 0; --i) {
      offset += view.stride[i];
      if (++at[i] < view.extent[i]) break;
      offset -= view.extent[i] * view.stride[i];
      at[i] = 0;
    }
  }
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/strided_view.ipp>
#endif
