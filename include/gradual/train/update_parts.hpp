#pragma once
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/optim/update_place.hpp>

namespace gradual {

/// The arrays of an update (0: the parameters, 1: the window's summed gradient, then the states), each with the parameters'
/// parts one after another.
class UpdateParts {
 public:
  explicit UpdateParts(const Tape& update);

  std::int64_t elements(int array) const { return elements_[static_cast<std::size_t>(array)]; }
  std::int64_t part_elements(int array, int parameter) const { return elements_[input(array, parameter)]; }
  std::int64_t part_begin(int array, int parameter) const { return begin_[input(array, parameter)]; }

  /// Returns the place of an input or root of the update.
  template <class Real>
  Real* place(Real* const* arrays, std::int64_t index) const {
    return arrays[update_place(index, arrays_).array] + begin_[static_cast<std::size_t>(index)];
  }

 private:
  std::size_t input(int array, int parameter) const {
    return static_cast<std::size_t>(update_index({array, parameter}, arrays_));
  }

  int arrays_;
  std::vector<std::int64_t> elements_, begin_;  ///< of each input
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/update_parts.ipp>
#endif
