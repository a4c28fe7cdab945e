#pragma once
// Kernels that no net's type is part of are compiled once for all tests, optimised as users' are.
#include <gradual/gradual.hpp>

#ifndef SHARED_KERNEL
#define SHARED_KERNEL extern template
#endif

namespace gradual {

SHARED_KERNEL class eager::CpuExecutor<OpsFor<void>>;

namespace cpu {
#define SHARED_KERNELS_IN(T)                                                                                               \
  SHARED_KERNEL void matmul<T>(const MatmulForm&, const T*, const T*, T*, std::int64_t, T*, Part);                         \
  SHARED_KERNEL void batch_contraction<T>(const BatchContractionForm&, const T*, const T*, const WindowPart<T, T>&, T*, Part); \
  SHARED_KERNEL void convolution<T>(const Convolution&, const T*, const T*, T*, std::int64_t, T*, Part);                   \
  SHARED_KERNEL void batch_convolution<T>(const Convolution&, std::int64_t, const T*, const T*, const WindowPart<T, T>&, T*, Part);
SHARED_KERNELS_IN(float)
SHARED_KERNELS_IN(double)
}  // namespace cpu

}  // namespace gradual
