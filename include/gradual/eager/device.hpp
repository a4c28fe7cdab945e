#pragma once
#include <span>

#include <gradual/core/budget.hpp>
#include <gradual/core/dtype.hpp>
#include <gradual/core/heap_block.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/core/shape.hpp>
#include <gradual/eager/pool.hpp>

namespace gradual {

/// The place where tensors lie, and their shared memory: a handle. Each device, and all that lies on it, belongs to one thread.
class Device {
 public:
  static constexpr std::int64_t unlimited = Budget::unlimited;

  /// Returns the processor, with a memory pool of its own of at most `limit` bytes. Errors: OptionError for a limit that is not
  /// a number, MemoryError.
  static Device cpu(Budget limit = {});

  /// Returns NVIDIA GPU `index`, with a pool of its own; for sources that nvcc compiles and that include <gradual/cuda.hpp>.
  /// `Ops`: the list of ops that kernels are compiled for, such as `OpsFor<Mine>`; void: the library's. Errors: MemoryError;
  /// DeviceError if there is no such device, NumericsError if results would differ from the processor's.
  template <class Ops = void>
  static Device cuda(int index, Budget limit = {}) {
    using Devices = eager::CudaDevices<Ops>;
    static_assert(Devices::included, "Device::cuda: include <gradual/cuda.hpp> and compile the source by nvcc");
    check_limit(limit);
    return or_memory_error("a device", [&] { return Device(eager::Pool::make(limit.bytes, Devices::make(index))); });
  }

  Device(const Device& other) : pool_(other.pool_) { pool_->hold(); }
  Device& operator=(Device other) noexcept;
  ~Device() { pool_->drop(); }

  const char* name() const { return shares_host_memory() ? "cpu" : accelerator()->name(); }
  /// Whether the host reads the device's tensors in place.
  bool shares_host_memory() const { return accelerator() == nullptr; }
  eager::Accelerator* accelerator() const { return pool_->accelerator(); }
  /// Returns the bytes of all live tensors, rounded up to the pool's sizes.
  std::int64_t live_bytes() const { return pool_->live(); }
  /// Returns the live bytes of one category.
  std::int64_t live_bytes(Category category) const { return pool_->live(category); }
  /// Returns the live bytes plus those kept for reuse.
  std::int64_t reserved_bytes() const { return pool_->reserved(); }
  /// Returns unused memory to the system.
  void trim() const { pool_->trim(); }
  /// Errors: MemoryError if the limit would be exceeded, before anything is allocated.
  eager::Storage allocate(std::int64_t bytes, Category category = Category::values) const;

  /// Copies from the device or the host to the device. Errors: DeviceError, as for the functions below.
  void copy(void* to, const void* from, std::int64_t bytes) const;
  /// Copies from the device to the host.
  void read(void* host, const void* from, std::int64_t bytes) const;
  void clear(void* to, std::int64_t bytes) const;
  /// Calls make(`count` numbers of host memory), which then become those at `to`. Errors: MemoryError.
  template <class T, class F>
  void write(T* to, std::int64_t count, F make) const {
    if (shares_host_memory()) return make(std::span(to, static_cast<std::size_t>(count)));
    const HeapBlock made(count * std::int64_t{sizeof(T)});
    make(std::span(reinterpret_cast<T*>(made.data()), static_cast<std::size_t>(count)));
    copy(to, made.data(), made.size());
  }
  /// Whether no value is infinite or NaN.
  template <class T>
  bool all_finite(const T* values, std::int64_t count) const {
    if (!shares_host_memory()) return accelerator()->all_finite(values, count);
    return math::all_finite(std::span(values, static_cast<std::size_t>(count)));
  }

  bool operator==(const Device&) const = default;

 private:
  static void check_limit(const Budget& limit);
  explicit Device(eager::Pool* pool) : pool_(pool) { pool_->hold(); }
  eager::Pool* pool_;
};

namespace eager {

/// Returns the bytes of a value of this shape for a batch of `batch` samples.
/// Errors: ShapeError for a negative extent, or more bytes than can be counted.
std::int64_t bytes_of(const Shape& shape, std::int64_t batch, DType dtype);

}  // namespace eager
}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/device.ipp>
#endif
