#pragma once
// Products by a library: cuBLASLt's, or the host twin's.
#if defined(__CUDACC__)
#include <gradual/cuda/device_gemm.hpp>
#else
#include <gradual/cuda/twin_gemm.hpp>
#endif
