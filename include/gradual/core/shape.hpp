#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <gradual/core/error.hpp>
#include <gradual/core/message.hpp>

namespace gradual {

inline constexpr int max_rank = 6;

namespace detail {
/// Not constexpr, so that a compiler that evaluates such a shape names this function.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_more_than_six_axes(std::int64_t axes) {
  throw ShapeError((Message() << "a shape of " << axes << " axes: at most " << max_rank << " are possible").string());
}
}  // namespace detail

/// Returns an axis counted from the front; a negative one counts from the end. The result may be out of range.
constexpr int from_front(int axis, int rank) { return axis < 0 ? axis + rank : axis; }

/// The extents of a value, row-major. The sample axis, if there is one, has a symbolic extent: `extent[batch_axis]` holds the
/// factor c, and the true extent is c times the batch. Errors: ShapeError for more than six axes.
struct Shape {
  std::int64_t extent[max_rank]{};
  int rank = 0;
  int batch_axis = -1;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> extents) {
    if (extents.size() > max_rank) detail::refuse_more_than_six_axes(static_cast<std::int64_t>(extents.size()));
    for (std::int64_t e : extents) extent[rank++] = e;
  }

  /// Returns the shape of one value of shape `sample` per sample: [batch, sample...].
  static constexpr Shape per_sample(const Shape& sample) {
    if (sample.rank == max_rank) detail::refuse_more_than_six_axes(max_rank + 1);
    Shape result;
    result.extent[result.rank++] = 1;
    result.batch_axis = 0;
    for (int i = 0; i < sample.rank; ++i) result.extent[result.rank++] = sample.extent[i];
    return result;
  }

  constexpr bool batched() const { return batch_axis >= 0; }

  /// Returns the elements per sample of the batch, or all elements if there is no sample axis.
  constexpr std::int64_t unit() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= extent[i];
    return product;
  }
  /// Whether the number of bytes, for one sample in the widest type, fits in 63 bits.
  constexpr bool countable() const {
    std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8;
    for (int i = 0; i < rank; ++i) {
      if (extent[i] < 0) return false;
      if (extent[i] > 0) most /= extent[i];
    }
    return most > 0;
  }
  constexpr std::int64_t elements(std::int64_t batch) const { return unit() * (batched() ? batch : 1); }

  /// Returns the extent of an axis in a batch of `batch` samples.
  constexpr std::int64_t extent_of(int axis, std::int64_t batch) const {
    return extent[axis] * (axis == batch_axis ? batch : 1);
  }
  /// Returns the product of the extents of the axes [first, last) in a batch of `batch` samples.
  constexpr std::int64_t product(int first, int last, std::int64_t batch = 1) const {
    std::int64_t result = 1;
    for (int i = first; i < last; ++i) result *= extent_of(i, batch);
    return result;
  }

  constexpr bool operator==(const Shape& other) const {
    if (rank != other.rank || batch_axis != other.batch_axis) return false;
    for (int i = 0; i < rank; ++i)
      if (extent[i] != other.extent[i]) return false;
    return true;
  }
};

template <int Capacity>
constexpr FixedText<Capacity>& operator<<(FixedText<Capacity>& out, const Shape& shape) {
  out << "[";
  for (int i = 0; i < shape.rank; ++i) {
    if (i > 0) out << ", ";
    if (i == shape.batch_axis) {
      out << "batch";
      if (shape.extent[i] != 1) out << "*" << shape.extent[i];
    } else {
      out << shape.extent[i];
    }
  }
  return out << "]";
}

}  // namespace gradual
