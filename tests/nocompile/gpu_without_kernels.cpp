// expected-error: Device::cuda: include <gradual/cuda.hpp> and compile the source by nvcc
#include <gradual/gradual.hpp>

using namespace gradual;

Device device() {
#if defined(GOOD)
  return Device::cpu();
#else
  return Device::cuda(0);
#endif
}
