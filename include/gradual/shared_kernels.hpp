#pragma once
// Kernels that do not depend on a net's type. The library `gradual::kernels` contains them, so that sources linked to it need
// not compile them. `gradual.hpp` includes this header where GRADUAL_SHARED_KERNELS is defined.
#include <gradual/autodiff/initialize.hpp>
#include <gradual/core/compensated.hpp>
#include <gradual/core/cpu/batch_contraction.hpp>
#include <gradual/core/cpu/batch_convolution.hpp>
#include <gradual/core/cpu/convolution.hpp>
#include <gradual/core/cpu/matmul.hpp>
#include <gradual/core/cpu/narrow_contraction.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/eager/cpu/executor.hpp>
#include <gradual/train/averages.hpp>

#ifndef GRADUAL_SHARED_KERNEL
#define GRADUAL_SHARED_KERNEL extern template
#endif

namespace gradual {

GRADUAL_SHARED_KERNEL bool math::all_finite<float>(std::span<const float>);
GRADUAL_SHARED_KERNEL bool math::all_finite<double>(std::span<const double>);
GRADUAL_SHARED_KERNEL class eager::CpuExecutor<OpsFor<void>>;
GRADUAL_SHARED_KERNEL void Averages::add<float>(const float* const*, const float*, std::int64_t);
GRADUAL_SHARED_KERNEL void Averages::add<double>(const double* const*, const double*, std::int64_t);
GRADUAL_SHARED_KERNEL void initialize<float>(std::span<float>, const Initializer&, std::uint64_t, int);
GRADUAL_SHARED_KERNEL void initialize<double>(std::span<double>, const Initializer&, std::uint64_t, int);

namespace cpu {
/// Makes linking fail if a source and `gradual::kernels` are compiled for vectors of different sizes, hence different layouts.
template <int Bytes>
[[gnu::noinline]] bool kernels_for_vectors_of() {
  return true;
}
GRADUAL_SHARED_KERNEL bool kernels_for_vectors_of<int{sizeof(Vec<float>)}>();
[[maybe_unused]] static const bool found_kernels = kernels_for_vectors_of<int{sizeof(Vec<float>)}>();

#define GRADUAL_SHARED_KERNELS_IN(T)                                                                                        \
  GRADUAL_SHARED_KERNEL void matmul<T>(const MatmulForm&, const T*, const T*, T*, std::int64_t, T*, Part);                  \
  GRADUAL_SHARED_KERNEL void batch_contraction<T>(const BatchContractionForm&, const T*, const T*, const WindowPart<T, T>&, \
                                                  T*, Part);                                                                \
  GRADUAL_SHARED_KERNEL void convolution<T>(const Convolution&, const T*, const T*, T*, std::int64_t, T*, Part);            \
  GRADUAL_SHARED_KERNEL void batch_convolution<T>(const Convolution&, std::int64_t, const T*, const T*,                     \
                                                  const WindowPart<T, T>&, T*, Part);
GRADUAL_SHARED_KERNELS_IN(float)
GRADUAL_SHARED_KERNELS_IN(double)

// Called by products whose sizes are known at compile time; W is the type in which sums are held.
#define GRADUAL_SHARED_SUMS_IN(T, W)                                                                            \
  GRADUAL_SHARED_KERNEL void detail::wide_contraction<T, T, W>(const BatchContractionForm&, const T*, const T*, \
                                                               const WindowPart<T, W>&, T*, Part);              \
  GRADUAL_SHARED_KERNEL void NarrowContraction::run<T, W>(const T*, const T*, const WindowPart<T, W>&, T*, Part) const;
GRADUAL_SHARED_SUMS_IN(float, float)
GRADUAL_SHARED_SUMS_IN(double, double)
GRADUAL_SHARED_SUMS_IN(float, double)
GRADUAL_SHARED_SUMS_IN(float, Compensated<float>)
}  // namespace cpu

}  // namespace gradual
