#pragma once
// Device memory, the stream and launches: CUDA's, or the host twin's.
#if defined(__CUDACC__)
#include <gradual/cuda/device_runtime.hpp>
#else
#include <gradual/cuda/twin_runtime.hpp>
#endif
