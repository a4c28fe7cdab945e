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

/// What a check for values that are not finite found: the number of the last one that failed. One lies on the device
/// and one in pinned memory, so that neither the host nor the device must be told of the other's.
struct Failed {
  std::int64_t check = 0;
};

// Kernels are templates, so that every source that uses them may hold one.

/// *to = value, which is skipped where `check` is the last one that failed; 0: never.
template <class T>
GRADUAL_KERNEL void set_step(T* to, T value, const Failed* failed, std::int64_t check) {
  value.skipped = check != 0 && failed->check == check;
  *to = value;
}

/// Bytes that travel as a kernel's argument: the device is not waited for, as copies from pageable memory may do.
struct FewBytes {
  static constexpr std::int64_t most = 512;
  unsigned char value[most];
};
template <class T>
GRADUAL_KERNEL void write_few(T* to, FewBytes bytes, std::int64_t count) {
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) to[i] = bytes.value[i];
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

/// The check of this number fails where a value is infinite or NaN.
template <class T>
GRADUAL_KERNEL void find_not_finite(Failed* here, Failed* on_host, const T* values, std::int64_t count,
                                    std::int64_t check) {
  bool found = false;
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) found |= !math::is_finite(values[i]);
  if (found) here->check = on_host->check = check;
}

}  // namespace gradual::cuda
