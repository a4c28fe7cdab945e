#pragma once
#include <cstdint>
#include <type_traits>

#include <gradual/autodiff/label_range.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/cuda/simt.hpp>

namespace gradual::cuda {

/// Sets `found`, in host memory, where a sample cannot be learned from: the device's counterpart of `validate_values`.
template <class T>
GRADUAL_KERNEL void find_unfit(const T* values, std::int64_t count, LabelRange range, bool* found) {
  bool unfit = false;
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    const T value = values[i];
    if constexpr (std::is_same_v<T, std::int32_t>) unfit |= range.holds(i) && !range.accepts(value);
    else unfit |= !math::is_finite(value);
  }
  if (unfit) *found = true;
}

/// Gathers rows of `width` words each, in the order of `rows`.
template <class Word>
GRADUAL_KERNEL void gather_rows(const Word* from, const std::int32_t* rows, Word* to, std::int64_t count, std::int64_t width) {
  for (std::int64_t i = global_thread(); i < count * width; i += global_threads())
    to[i] = from[rows[i / width] * width + i % width];
}

}  // namespace gradual::cuda
