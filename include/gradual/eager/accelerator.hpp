#pragma once
#include <memory>

#include <gradual/eager/storage.hpp>

namespace gradual {
class Device;
}

namespace gradual::eager {

class Executor;

/// A device with memory of its own. Its work is done in the order of the calls; the host reads that memory by `read` alone.
class Accelerator {
 public:
  virtual ~Accelerator() = default;

  virtual const char* name() const = 0;
  /// Errors: MemoryError if the device has too little memory left, DeviceError; the same for all functions below.
  virtual std::unique_ptr<Piece> take(std::int64_t bytes) = 0;
  /// Whether this is the device's memory. Errors: DataError for memory of another device.
  virtual bool holds(const void* at) const = 0;
  /// Copies from the device or the host, whose bytes may be changed when this returns, to the device.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Waits for all earlier work.
  virtual void read(void* host, const void* from, std::int64_t bytes) = 0;
  virtual void clear(void* to, std::int64_t bytes) = 0;
  /// to[i] += from[i].
  virtual void add(float* to, const float* from, std::int64_t count) = 0;
  virtual void add(double* to, const double* from, std::int64_t count) = 0;
  /// Whether no value is infinite or NaN.
  virtual bool all_finite(const float* values, std::int64_t count) = 0;
  virtual bool all_finite(const double* values, std::int64_t count) = 0;
  /// Returns the executor of ops on the device.
  virtual std::unique_ptr<Executor> executor(const Device& device) = 0;
};

/// Makes GPUs if <gradual/cuda.hpp> is included, with kernels for the ops of a list; void: the library's.
template <class Ops, class = void>
struct CudaDevices {
  static constexpr bool included = false;
};

}  // namespace gradual::eager
