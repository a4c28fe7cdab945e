#pragma once
#include <gradual/core/budget.hpp>
#include <gradual/core/dtype.hpp>
#include <gradual/core/shape.hpp>
#include <gradual/eager/pool.hpp>

namespace gradual {

/// Where tensors lie, and the memory that they share: a handle. Each device, and all that lies on it, belongs to one
/// thread.
class Device {
 public:
  static constexpr std::int64_t unlimited = Budget::unlimited;

  /// The processor, with a memory pool of its own of at most `limit` bytes. Errors: MemoryError.
  static Device cpu(Budget limit = {}) {
    return or_memory_error("a device", [&] { return Device(eager::Pool::make(limit.bytes)); });
  }

  Device(const Device& other) : pool_(other.pool_) { pool_->hold(); }
  Device& operator=(Device other) noexcept {
    std::swap(pool_, other.pool_);
    return *this;
  }
  ~Device() { pool_->drop(); }

  const char* name() const { return "cpu"; }
  /// Bytes of all live tensors, rounded to the pool's sizes.
  std::int64_t live_bytes() const { return pool_->live(); }
  /// Those of one category.
  std::int64_t live_bytes(Category category) const { return pool_->live(category); }
  /// The same and what waits to be used again.
  std::int64_t reserved_bytes() const { return pool_->reserved(); }
  /// Gives unused memory back to the system.
  void trim() const { pool_->trim(); }
  /// Errors: MemoryError where the limit would be exceeded, before anything is allocated.
  eager::Storage allocate(std::int64_t bytes, Category category = Category::values) const {
    return pool_->take(bytes, category);
  }

  bool operator==(const Device&) const = default;

 private:
  explicit Device(eager::Pool* pool) : pool_(pool) { pool_->hold(); }
  eager::Pool* pool_;
};

namespace eager {

/// Bytes of a value of this shape where the batch has `batch` samples.
/// Errors: ShapeError for a negative extent, or more bytes than can be counted.
inline std::int64_t bytes_of(const Shape& shape, std::int64_t batch, DType dtype) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  bool fits = batch >= 0 && !(shape.batched() && __builtin_mul_overflow(bytes, batch, &bytes));
  for (int i = 0; i < shape.rank; ++i)
    fits = fits && shape.extent[i] >= 0 && !__builtin_mul_overflow(bytes, shape.extent[i], &bytes);
  if (!fits || bytes > Device::unlimited / 4)
    throw ShapeError((Message() << "shape " << shape << " of " << name_of(dtype) << " for " << batch
                                << " samples has no countable size").string());
  return bytes;
}

}  // namespace eager
}  // namespace gradual
