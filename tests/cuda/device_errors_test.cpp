// What is said where there is no device, or where CUDA fails: its own name for that, and what can be done. The twin has neither.
#include <gradual/cuda.hpp>

#include "../error_of.hpp"
#include "cuda_test.hpp"

#if defined(__CUDACC__)

namespace device_errors_test {

using namespace models;

TEST(DeviceErrors, SayWhyThereIsNoDevice) {
  if (cuda::device_found()) GTEST_SKIP() << "skipped: a CUDA device is there";
  using Net = On<ClassifierNet, Cuda>;  // which device_samples_test compiles, with this rule
  const std::string text = error_of<DeviceError>([] { Session(Net{}, Accumulate{Adam{}}, {.global_batch = 8}); });
  EXPECT_TRUE(text.starts_with("gradual: no CUDA device is found: cudaError")) << text;
  EXPECT_NE(text.find("nvidia-smi"), std::string::npos) << text;
  EXPECT_EQ(error_of<DeviceError>([] { Device::cuda(0); }), text);
}

TEST(DeviceErrors, NameWhatFailedAndARemedy) {
  const auto told = [](cudaError_t status) { return error_of<DeviceError>([&] { cuda::check(status, "a call"); }); };
  EXPECT_EQ(told(cudaSuccess), "accepted");
  EXPECT_EQ(told(cudaErrorInvalidValue), "a call: cudaErrorInvalidValue, invalid argument");
  for (const cudaError_t status : {cudaErrorNoDevice, cudaErrorInsufficientDriver, cudaErrorUnsupportedPtxVersion,
                                   cudaErrorMemoryAllocation, cudaErrorDevicesUnavailable, cudaErrorNoKernelImageForDevice})
    EXPECT_NE(told(status).find(cudaGetErrorString(status) + std::string("; ")), std::string::npos) << told(status);
}

}  // namespace device_errors_test

#endif
