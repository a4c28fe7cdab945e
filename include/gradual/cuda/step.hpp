#pragma once
#include <gradual/autodiff/randomness.hpp>
#include <gradual/core/compensated.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/cuda/simt.hpp>

namespace gradual::cuda {

/// What changes from one micro-batch to the next. It lies in device memory, so that a recorded graph of kernels, launched
/// again, sees the new values; kernels leave what lies beyond `batch`.
struct Step {
  std::int64_t batch = 0;          ///< samples in this micro-batch
  std::int64_t begin = 0;          ///< index in the window of its first sample
  bool first = true, last = true;  ///< whether it begins, and ends, the window
  Randomness random;
};

// Kernels are templates, so that every source that uses them may hold one.

/// *to = value.
template <class T>
GRADUAL_KERNEL void set(T* to, T value) {
  *to = value;
}

/// to[i] += from[i].
template <class W, class T>
GRADUAL_KERNEL void add(W* to, const T* from, std::int64_t count) {
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) to[i] += from[i];
}

/// Makes numbers of complete sums, in their places.
template <class W>
GRADUAL_KERNEL void complete_sums(W* sums, std::int64_t count) {
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) complete(sums[i]);
}

/// *found = 1 where a value is infinite or NaN.
template <class T>
GRADUAL_KERNEL void find_not_finite(int* found, const T* values, std::int64_t count) {
  for (std::int64_t i = global_thread(); i < count; i += global_threads())
    if (!math::is_finite(values[i])) *found = 1;
}

}  // namespace gradual::cuda
