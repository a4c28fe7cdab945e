#pragma once
#include <gradual/core/numerics_check.hpp>
#include <gradual/cuda/runtime.hpp>

namespace gradual::cuda {

/// Computes expressions that nvcc's flags may change, from numbers that no compiler can see.
template <class T>
GRADUAL_KERNEL void try_numerics(const T* x, T* result) {
  result[0] = x[0] * x[0] + x[1];
  result[1] = x[2] * x[3];
  result[2] = x[3] / x[4];
}

/// Finds nvcc flags under which kernels would not give the host's bits. Errors: NumericsError naming the flag.
inline void check_numerics() {
  gradual::check_numerics();
  const float x[5] = {1.0f + 0x1p-12f, -(1.0f + 0x1p-11f), 0x1p-126f, 0.5f, 3.0f};
  float result[3];
  const Memory memory(sizeof(x) + sizeof(result));
  float* const device = reinterpret_cast<float*>(memory.data());
  const Stream stream;
  stream.copy(device, x, sizeof(x));
  stream.launch(&try_numerics<float>, 1, 1, static_cast<const float*>(device), device + 5);
  stream.copy(result, device + 5, sizeof(result));
  stream.wait();
  if (result[0] != 0.0f) throw NumericsError("gradual: nvcc contracts a*b+c to one rounding: add --fmad=false");
  if (result[1] == 0.0f)
    throw NumericsError("gradual: nvcc flushes subnormal numbers to zero: remove --use_fast_math and --ftz=true");
  if (result[2] != x[3] / x[4])
    throw NumericsError("gradual: nvcc approximates division: remove --use_fast_math and --prec-div=false");
}

}  // namespace gradual::cuda
