#pragma once
#include <gradual/eager/tensor.hpp>

namespace gradual {

GRADUAL_ONCE Tensor Tensor::to(const Device& device) const {
  const std::int64_t bytes = eager::bytes_of(shape_, 1, dtype_);
  Tensor result(device, dtype_, shape_, device.allocate(bytes));
  if (device_.shares_host_memory()) {
    device.copy(result.storage_.data(), storage_.data(), bytes);
  } else {
    const HeapBlock between(bytes);
    device_.read(between.data(), storage_.data(), bytes);
    device.copy(result.storage_.data(), between.data(), bytes);
  }
  return result;
}

GRADUAL_ONCE double Tensor::item() const {
  if (size() != 1) throw ShapeError((Message() << "tensor: item() needs one element, got shape " << shape_).string());
  return (*this)[0];
}

GRADUAL_ONCE double Tensor::operator[](std::int64_t i) const {
  if (i < 0 || i >= size()) throw ShapeError((Message() << "tensor: no element " << i << " in shape " << shape_).string());
  return with_type(dtype_, [&](auto element) {
    device_.read(&element, storage_.as<decltype(element)>() + i, sizeof(element));
    return static_cast<double>(static_cast<Computed<decltype(element)>>(element));
  });
}

}  // namespace gradual
