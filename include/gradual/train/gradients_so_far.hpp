#pragma once
#include <utility>

#include <gradual/eager/host_copy.hpp>
#include <gradual/eager/window_sums.hpp>
#include <gradual/train/noise_measure.hpp>

namespace gradual::detail {

/// The gradients so far of an eager session's unfinished window, kept to measure their noise.
template <class Real>
class GradientsSoFar {
 public:
  /// For `elements` elements of all parameters; 0: measures nothing. Errors: MemoryError.
  GradientsSoFar(const Device& device, std::int64_t elements) : elements_(elements) {
    if (elements == 0) return;
    for (eager::Storage& values : values_) values = device.allocate(elements * std::int64_t{sizeof(Real)}, Category::gradients);
  }

  /// Returns the squares of the complete gradients in a session's arrays and of their change since last measured.
  template <class Arrays>
  GradientSquares square(const Arrays& arrays) const {
    return squares_of(arrays, arrays.on_host(1), false);
  }
  /// Does the same for an unfinished window of this weight; `first`: its change is since 0. Keeps its gradients for the next
  /// time. Errors: MemoryError.
  template <class Arrays>
  GradientSquares square(const Arrays& arrays, eager::WindowSums& sums, double weight, bool first) {
    sums.finish_copy(std::span(values_[1].as<Real>(), static_cast<std::size_t>(elements_)), weight);
    const GradientSquares result = squares_of(arrays, on_host(arrays.device(), 1), first);
    std::swap(values_[0], values_[1]);
    return result;
  }

 private:
  std::span<const Real> on_host(const Device& device, int which) const {
    return copies_[which].of(device, values_[which].as<Real>(), elements_);
  }
  template <class Arrays>
  GradientSquares squares_of(const Arrays& arrays, std::span<const Real> now, bool first) const {
    return detail::squares_of(arrays.parameters().declared(), arrays.frozen(), now,
                              first ? std::span<const Real>() : on_host(arrays.device(), 0));
  }

  std::int64_t elements_;
  eager::Storage values_[2];  ///< the gradients last measured, and room for the next
  eager::HostCopy<Real> copies_[2];
};

}  // namespace gradual::detail
