#pragma once
#include <cuda_runtime.h>

#include <string>

#include <gradual/core/error.hpp>

namespace gradual::cuda {

/// Returns what can be done about an error; empty where that depends on circumstances.
constexpr const char* remedy(cudaError_t status) {
  switch (status) {
    case cudaErrorNoDevice: return "; `nvidia-smi -L` lists devices, of which CUDA_VISIBLE_DEVICES may hide some";
    case cudaErrorInsufficientDriver:
    case cudaErrorUnsupportedPtxVersion: return "; nvidia-smi shows the newest CUDA that a loaded driver runs";
    case cudaErrorMemoryAllocation: return "; nvidia-smi shows which processes hold the device's memory";
    case cudaErrorDevicesUnavailable: return "; another program holds the device, or nobody may use it (nvidia-smi)";
    case cudaErrorNoKernelImageForDevice: return "; compile for this device: nvcc -arch=native, CMAKE_CUDA_ARCHITECTURES=native";
    default: return "";
  }
}

/// Errors: DeviceError with the call, CUDA's own name and description of the error, and a remedy where one is known.
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // so that a recoverable error is not reported again
  throw DeviceError(std::string(call) + ": " + cudaGetErrorName(status) + ", " + cudaGetErrorString(status) + remedy(status));
}

/// Returns the number of devices; 0 where CUDA cannot count them.
inline int device_count() {
  int count = 0;
  const bool counted = cudaGetDeviceCount(&count) == cudaSuccess;
  cudaGetLastError();
  return counted ? count : 0;
}
inline bool device_found() { return device_count() > 0; }
/// Errors: DeviceError with the reason why there is no device.
inline void require_device() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "gradual: no CUDA device found");
}

}  // namespace gradual::cuda
