// Messages if there is no device or CUDA fails: CUDA's own name of the error, and a remedy. The twin has neither case.
#include <gtest/gtest.h>

#include <gradual/cuda/device_errors.hpp>

#include "../error_of.hpp"

namespace device_errors_test {

using namespace gradual;

TEST(DeviceErrors, SayWhyThereIsNoDevice) {
  if (cuda::device_found()) GTEST_SKIP() << "skipped: a CUDA device is there";
  const std::string text = error_of<DeviceError>([] { cuda::require_device(); });
  EXPECT_TRUE(text.starts_with("gradual: no CUDA device found: cudaError")) << text;
  EXPECT_NE(text.find("nvidia-smi"), std::string::npos) << text;
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
