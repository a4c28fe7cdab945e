#pragma once
#include <cstdint>

#include <gradual/autodiff/graph.hpp>

namespace gradual {

/// Returns the number of arrays of an update program, whose inputs are first each array as one row, then, parameter by
/// parameter, its part of each array.
constexpr int array_count(const Counts& update) { return update.inputs / (1 + update.parameters); }

/// Where the value of an input or root of an update program lies: in which array (0: the parameters, 1: the window's
/// summed gradient, then the states), and whether it is the whole array or one parameter's part.
struct UpdatePlace {
  int array = 0, parameter = -1;  ///< −1: all parameters, one after another
};
/// `arrays`: their number, 2 plus one per state.
constexpr UpdatePlace update_place(std::int64_t index, int arrays) {
  return {static_cast<int>(index % arrays), static_cast<int>(index / arrays) - 1};
}

/// The inverse of `update_place`.
constexpr int update_index(UpdatePlace place, int arrays) { return place.array + arrays * (1 + place.parameter); }

}  // namespace gradual
