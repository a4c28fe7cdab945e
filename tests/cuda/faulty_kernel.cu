// A kernel that writes past its memory, races and reads what nobody wrote: each of compute-sanitizer's tools must say so.
#include <cstring>

#include <gradual/cuda/runtime.hpp>

namespace {

__global__ void writes_past_its_memory(float* to, int count) { to[count + threadIdx.x] = 1; }

__global__ void races(float* to) {
  __shared__ float shared[64];
  shared[threadIdx.x] = static_cast<float>(threadIdx.x);
  to[threadIdx.x] = shared[63 - threadIdx.x];  // a barrier is missing
}

__global__ void reads_what_nobody_wrote(float* to) { to[threadIdx.x] += to[threadIdx.x + 64]; }

__global__ void waits_unasked(float* to) {
  if (threadIdx.x <= 16) __syncwarp(0xffffu);  // the last of these is not in the mask; one that never comes is not seen
  to[threadIdx.x] = 1;
}

}  // namespace

int main(int, char** arguments) {
  const gradual::cuda::Stream stream;
  void* memory = nullptr;
  gradual::cuda::check(cudaMalloc(&memory, 512), "cudaMalloc");
  float* const values = static_cast<float*>(memory);
  const char* const fault = arguments[1];
  if (std::strcmp(fault, "memcheck") == 0) stream.launch(&writes_past_its_memory, 1, 64, values, 128);
  if (std::strcmp(fault, "racecheck") == 0) stream.launch(&races, 1, 64, values);
  if (std::strcmp(fault, "initcheck") == 0) stream.launch(&reads_what_nobody_wrote, 1, 64, values);
  if (std::strcmp(fault, "synccheck") == 0) stream.launch(&waits_unasked, 1, 32, values);
  cudaStreamSynchronize(nullptr);
  cudaDeviceSynchronize();
  cudaFree(memory);
}
