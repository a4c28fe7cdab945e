#pragma once
/// Gradual with its CUDA backend in `Numerics::fast`, for sources that are compiled with nvcc and linked to cuBLASLt and, where
/// available, cuDNN (`gradual::cuda_fast`):
/// `Compiled<Mlp, Inputs<f32[64], i32>, CudaWith<Numerics::fast, Precision::tf32>>`.
#include <gradual/core/hide_names.hpp>

#include <gradual/cuda.hpp>
#include <gradual/cuda/fast_products.hpp>

#include <gradual/core/restore_names.hpp>

template <gradual::Precision Used>
struct gradual::cuda::ProductsIn<gradual::Numerics::fast, Used> {
  using type = FastProducts<Used>;
};
