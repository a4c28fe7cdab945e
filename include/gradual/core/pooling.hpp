#pragma once
#include <gradual/core/convolution.hpp>
#include <gradual/core/dtype.hpp>

namespace gradual {

/// Windows that slide over the planes of images; places of a window outside the plane are absent. Defines each element, on
/// plain planes: the specification, and the code that GPUs run. Elements of type E are computed as `Computed<E>`.
struct Pooling {
  ConvolutionAxis y, x;

  GRADUAL_HD constexpr std::int64_t pixels() const { return y.in * x.in; }
  GRADUAL_HD constexpr std::int64_t positions() const { return y.out * x.out; }
  /// Returns the number of places of all windows of a plane, padding included.
  constexpr std::int64_t places() const { return positions() * y.kernel * x.kernel; }

  /// Returns the larger number, or NaN if one is NaN.
  template <class T>
  GRADUAL_HD static constexpr T larger(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }

  /// Returns the largest element of a window, going through its places row by row.
  template <class E>
  GRADUAL_HD constexpr Computed<E> largest(const E* plane, std::int64_t position) const {
    using T = Computed<E>;
    T most = -static_cast<T>(__builtin_huge_val());
    for_places(position, [&](std::int64_t pixel) { most = larger(most, static_cast<T>(plane[pixel])); });
    return most;
  }

  /// The number of elements of a window that equal its largest one, and the sum of `values` at them.
  template <class T>
  struct AtLargest {
    T count = 0, sum = 0;
  };
  template <class E>
  GRADUAL_HD constexpr AtLargest<Computed<E>> at_largest(const E* plane, const E* pooled, const E* values,
                                                         std::int64_t position) const {
    using T = Computed<E>;
    AtLargest<T> result;
    for_places(position, [&](std::int64_t pixel) {
      const bool equal = static_cast<T>(plane[pixel]) == static_cast<T>(pooled[position]);
      result.count += equal ? T(1) : T(0);
      result.sum += equal ? static_cast<T>(values[pixel]) : T(0);
    });
    return result;
  }

  /// Returns the mean of `values` over the largest elements of a window; 0 if no element equals `pooled` there.
  template <class E>
  GRADUAL_HD constexpr Computed<E> gathered(const E* plane, const E* pooled, const E* values, std::int64_t position) const {
    const AtLargest<Computed<E>> at = at_largest(plane, pooled, values, position);
    return at.count > 0 ? at.sum / at.count : Computed<E>(0);
  }

  /// Returns a pixel's share of `g`, which has one number per window, shared evenly by the window's largest elements: the sum
  /// over the windows that contain the pixel, row by row, each row from the right.
  template <class E>
  GRADUAL_HD constexpr Computed<E> spread(const E* plane, const E* pooled, const E* g, std::int64_t pixel) const {
    using T = Computed<E>;
    T sum = 0;
    const std::int64_t row = pixel / x.in + y.before, column = pixel % x.in + x.before;
    for (std::int64_t i = first_window(y, row); i <= last_window(y, row); ++i)
      for (std::int64_t j = last_window(x, column); j >= first_window(x, column); --j) {
        const std::int64_t position = i * x.out + j;
        if (static_cast<T>(plane[pixel]) == static_cast<T>(pooled[position]))
          sum += static_cast<T>(g[position]) / at_largest(plane, pooled, plane, position).count;
      }
    return sum;
  }

 private:
  GRADUAL_HD static constexpr std::int64_t last_window(const ConvolutionAxis& axis, std::int64_t place) {
    return place / axis.stride < axis.out ? place / axis.stride : axis.out - 1;
  }
  GRADUAL_HD static constexpr std::int64_t first_window(const ConvolutionAxis& axis, std::int64_t place) {
    return place < axis.kernel ? 0 : (place - axis.kernel) / axis.stride + 1;
  }
  GRADUAL_EITHER_SIDE
  template <class F>
  GRADUAL_HD constexpr void for_places(std::int64_t position, F f) const {
    for (std::int64_t r = 0; r < y.kernel; ++r)
      for (std::int64_t s = 0; s < x.kernel; ++s) {
        const std::int64_t row = y.at(position / x.out, r), column = x.at(position % x.out, s);
        if (row >= 0 && column >= 0) f(row * x.in + column);
      }
  }
};

}  // namespace gradual
