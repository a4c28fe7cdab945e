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
  bool skipped = false;            ///< kernels do nothing: what they were asked for was found to be in vain
  Randomness random = {};
};

/// What kernels have heard of the host, in device memory.
struct Heard {
  Step step;
  std::int64_t orders = 0;  ///< that were read
  std::int64_t check = 0;   ///< number of the check on which the step depends; 0: of none
  std::int64_t failed = 0;  ///< number of the last check that failed
  bool lost = false;        ///< a loss of the window is not finite
};

// Kernels are templates, so that every source that uses them may hold one.

template <class T>
GRADUAL_KERNEL void set_step(T* to, T value) {
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

/// What must be finite, or kernels behind it do nothing; `on_host`: where the host reads the number of the last check that
/// failed.
struct Check {
  const void* values = nullptr;
  std::int64_t count = 0;
  DType type = DType::f32;
  bool losses = false;  ///< those of the window, too
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

/// By those threads that there are, which have heard of it.
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
