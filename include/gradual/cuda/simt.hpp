#pragma once
// The vocabulary of kernels: thread indices, barriers, shuffles. Under nvcc it is CUDA's own; with GRADUAL_CUDA_TWIN any C++
// compiler builds the host twin of the same kernels, for tests without a GPU.
#include <cstdint>

#include <gradual/core/config.hpp>

#if defined(__CUDACC__)
#define GRADUAL_DEVICE __device__
#define GRADUAL_KERNEL __global__
/// A kernel with this maximum of threads per block and, if given, this minimum of resident blocks per multiprocessor.
#define GRADUAL_KERNEL_OF(...) __global__ __launch_bounds__(__VA_ARGS__)
#define GRADUAL_SHARED __shared__
#define GRADUAL_SHARED_IN_CLUSTER __shared__
/// For an argument whose address is passed on: it is read in place, not copied by every thread.
#define GRADUAL_IN_PLACE const __grid_constant__
#elif defined(GRADUAL_CUDA_TWIN)
#include <gradual/cuda/twin.hpp>
#define GRADUAL_DEVICE
#define GRADUAL_KERNEL
#define GRADUAL_KERNEL_OF(...)
#define GRADUAL_IN_PLACE const
#define GRADUAL_SHARED static  // blocks of the twin run one after another
#define GRADUAL_SHARED_IN_CLUSTER static thread_local  // except those of a cluster
#else
#error "gradual: CUDA programs are compiled by nvcc: give the file the suffix .cu"
#endif

namespace gradual::cuda {

/// The most that a thread reads or writes at once.
struct alignas(16) FourWords {
  std::uint32_t words[4];
};

inline constexpr int warp_size = 32;
inline constexpr int multiprocessors = 132;  ///< of the GPUs (H100, H200) for which launches are tuned

#if defined(__CUDACC__)
GRADUAL_DEVICE inline int thread_index() { return static_cast<int>(threadIdx.x); }
GRADUAL_DEVICE inline int thread_count() { return static_cast<int>(blockDim.x); }
GRADUAL_DEVICE inline std::int64_t block_index() { return blockIdx.x; }
GRADUAL_DEVICE inline std::int64_t block_count() { return gridDim.x; }
/// Waits for all threads of the block.
GRADUAL_DEVICE inline void barrier() { __syncthreads(); }
/// Waits for all threads of the cluster, or of the block where that is alone; makes their writes visible to one another.
GRADUAL_DEVICE inline void cluster_barrier() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}
/// Returns the value of the lane `by` places up in this warp; all lanes must call it.
template <class T>
GRADUAL_DEVICE T shuffle_down(T value, int by) {
  return __shfl_down_sync(0xffffffffu, value, static_cast<unsigned>(by));
}
/// Returns the lanes of this warp whose `yes` is true, lane l as bit l; all lanes must call it.
GRADUAL_DEVICE inline unsigned ballot(bool yes) { return __ballot_sync(0xffffffffu, yes); }
/// Returns the index of the lowest bit that is set.
GRADUAL_DEVICE inline int lowest_bit(unsigned bits) { return __ffs(static_cast<int>(bits)) - 1; }
#else
inline int thread_index() { return twin::Grid::current().thread(); }
inline int thread_count() { return twin::Grid::current().threads(); }
inline std::int64_t block_index() { return twin::Grid::current().block(); }
inline std::int64_t block_count() { return twin::Grid::current().blocks(); }
inline void barrier() { twin::Grid::current().barrier(); }
inline void cluster_barrier() { twin::Grid::current().cluster_barrier(); }
template <class T>
T shuffle_down(T value, int by) {
  return twin::Grid::current().shuffle_down(value, by);
}
inline unsigned ballot(bool yes) { return twin::Grid::current().ballot(yes); }
inline int lowest_bit(unsigned bits) { return __builtin_ctz(bits); }
#endif

GRADUAL_DEVICE inline std::int64_t global_thread() { return block_index() * thread_count() + thread_index(); }
GRADUAL_DEVICE inline std::int64_t global_threads() { return block_count() * thread_count(); }

}  // namespace gradual::cuda
