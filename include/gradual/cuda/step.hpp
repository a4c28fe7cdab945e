#pragma once
#include <gradual/autodiff/randomness.hpp>
#include <gradual/core/compensated.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/cuda/simt.hpp>

namespace gradual::cuda {

/// What changes from one micro-batch to the next. It is in device memory, so that a replayed graph of kernels sees the new
/// values. Kernels leave what lies beyond `batch` untouched.
struct Step {
  std::int64_t batch = 0;          ///< samples in this micro-batch
  std::int64_t begin = 0;          ///< index in the window of its first sample
  bool first = true, last = true;  ///< whether it begins, and ends, the window
  bool skipped = false;            ///< kernels do nothing: the check they depend on has failed
  Randomness random = {};
};

/// The state of kernels, in device memory: what the host has told them and what their checks have found.
struct Heard {
  Step step;
  std::int64_t orders = 0;  ///< number of orders that were read
  std::int64_t check = 0;   ///< number of the check on which the step depends; 0: none
  std::int64_t failed = 0;  ///< number of the last check that failed
  bool lost = false;        ///< a loss of the window is not finite
};

// Kernels are templates, so that every source file that uses one may define it.

template <class T>
GRADUAL_KERNEL void set_step(T* to, T value) {
  *to = value;
}

/// to[i] += from[i].
template <class W, class T>
GRADUAL_KERNEL void add(W* to, const T* from, std::int64_t count) {
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) to[i] += from[i];
}

/// Replaces complete sums by plain numbers, in place.
template <class W>
GRADUAL_KERNEL void complete_sums(W* sums, std::int64_t count) {
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) complete(sums[i]);
}

/// Values that must be finite, or later kernels do nothing. `on_host`: where the host reads the number of the last check that
/// failed.
struct Check {
  const void* values = nullptr;
  std::int64_t count = 0;
  DType type = DType::f32;
  bool losses = false;  ///< the window's losses must be finite, too
  std::int64_t* on_host = nullptr;

  template <class T>
  static Check of(const T* values, std::int64_t count, bool losses, std::int64_t* on_host) {
    if constexpr (requires { values->high; }) return of(&values->high, 2 * count, losses, on_host);  // both parts
    else return {values, count, dtype_of<T>, losses, on_host};
  }
  GRADUAL_DEVICE bool fails(std::int64_t i) const {
    if (type == DType::f32) return !math::is_finite(static_cast<const float*>(values)[i]);
    if (type == DType::f64) return !math::is_finite(static_cast<const double*>(values)[i]);
    if (type == DType::bf16) return !math::is_finite(static_cast<const bf16*>(values)[i]);
    return !math::is_finite(static_cast<const f16*>(values)[i]);
  }
};

/// Makes a check, by all threads of the launch, and notes in `here` where it fails.
GRADUAL_DEVICE inline void look_for_not_finite(const Check& check, Heard& here) {
  bool found = check.losses && here.lost;
  for (std::int64_t i = global_thread(); i < check.count; i += global_threads()) found |= check.fails(i);
  if (!found) return;
  here.step.skipped = true;
  here.failed = *check.on_host = here.check;
}

template <class T>
GRADUAL_KERNEL void find_not_finite(Check check, T* here) {
  look_for_not_finite(check, *here);
}

}  // namespace gradual::cuda
