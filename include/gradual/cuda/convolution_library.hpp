#pragma once
// Convolutions by a library: cuDNN's where its target is linked, or the host twin's.
#if !defined(__CUDACC__)
#include <gradual/cuda/twin_convolution.hpp>
#elif defined(GRADUAL_CUDNN)
#include <gradual/cuda/device_convolution.hpp>
#else
#include <gradual/cuda/no_convolution.hpp>
#endif
