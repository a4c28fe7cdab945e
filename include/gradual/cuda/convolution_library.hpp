#pragma once
// Convolutions by a library: cuDNN's where its target is linked, or the host twin's.
#if !defined(__CUDACC__)
#include <gradual/cuda/twin_convolution.hpp>
#elif defined(GRADUAL_CUDNN)
#include <gradual/cuda/device_convolution.hpp>
#endif

namespace gradual::cuda {

#if defined(__CUDACC__) && !defined(GRADUAL_CUDNN)
inline constexpr bool has_convolution_library = false;
struct LibraryConvolution {};
struct ConvolutionLibrary {};
#else
inline constexpr bool has_convolution_library = true;
#endif

}  // namespace gradual::cuda
