#pragma once
#include <gradual/eager/device.hpp>

#include <cstring>

namespace gradual {

GRADUAL_ONCE Device Device::cpu(Budget limit) {
  check_limit(limit);
  return or_memory_error("a device", [&] { return Device(eager::Pool::make(limit.bytes)); });
}

GRADUAL_ONCE Device& Device::operator=(Device other) noexcept {
  std::swap(pool_, other.pool_);
  return *this;
}

GRADUAL_ONCE eager::Storage Device::allocate(std::int64_t bytes, Category category) const {
  return pool_->take(bytes, category);
}

GRADUAL_ONCE void Device::copy(void* to, const void* from, std::int64_t bytes) const {
  if (!shares_host_memory()) accelerator()->copy(to, from, bytes);
  else if (bytes > 0) std::memmove(to, from, static_cast<std::size_t>(bytes));
}

GRADUAL_ONCE void Device::read(void* host, const void* from, std::int64_t bytes) const {
  if (!shares_host_memory()) accelerator()->read(host, from, bytes);
  else if (bytes > 0) std::memcpy(host, from, static_cast<std::size_t>(bytes));
}

GRADUAL_ONCE void Device::clear(void* to, std::int64_t bytes) const {
  if (!shares_host_memory()) accelerator()->clear(to, bytes);
  else if (bytes > 0) std::memset(to, 0, static_cast<std::size_t>(bytes));
}

GRADUAL_ONCE void Device::check_limit(const Budget& limit) {
  if (limit.follows) throw OptionError("a device's limit must be a number of bytes: Budget::free_memory() is for sessions");
}

}  // namespace gradual

namespace gradual::eager {

GRADUAL_ONCE std::int64_t bytes_of(const Shape& shape, std::int64_t batch, DType dtype) {
  std::int64_t bytes = size_of(dtype);
  bool fits = batch >= 0 && !(shape.batched() && __builtin_mul_overflow(bytes, batch, &bytes));
  for (int i = 0; i < shape.rank; ++i)
    fits = fits && shape.extent[i] >= 0 && !__builtin_mul_overflow(bytes, shape.extent[i], &bytes);
  if (!fits || bytes > Device::unlimited / 4)
    throw ShapeError((Message() << "shape " << shape << " of " << name_of(dtype) << " for " << batch
                                << " samples is too large or has a negative extent").string());
  return bytes;
}

}  // namespace gradual::eager
