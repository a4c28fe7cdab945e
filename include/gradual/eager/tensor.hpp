#pragma once
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <span>

#include <gradual/eager/device.hpp>

namespace gradual {

/// Numbers on a device, row-major: a handle to memory that all its copies share and nobody changes.
class Tensor {
 public:
  /// What lies in `storage`: bytes_of(shape, 1, dtype) bytes.
  Tensor(const Device& device, DType dtype, const Shape& shape, eager::Storage storage)
      : device_(device), dtype_(dtype), shape_(shape), storage_(std::move(storage)) {}

  /// A copy of `values` on the device. Errors: ShapeError where the shape has another number of elements, MemoryError.
  template <class T>
  static Tensor from(const Device& device, std::span<const T> values, const Shape& shape) {
    const std::int64_t bytes = eager::bytes_of(shape, 1, dtype_of<T>);
    if (static_cast<std::int64_t>(values.size_bytes()) != bytes)
      throw ShapeError((Message() << "tensor: " << static_cast<std::int64_t>(values.size()) << " values do not fill shape "
                                  << shape).string());
    Tensor result(device, dtype_of<T>, shape, device.allocate(bytes));
    if (bytes > 0) std::memcpy(result.storage_.data(), values.data(), values.size_bytes());
    return result;
  }
  template <class T>
  static Tensor from(const Device& device, std::initializer_list<T> values, const Shape& shape) {
    return from(device, std::span<const T>(values.begin(), values.size()), shape);
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Device& device() const { return device_; }
  const eager::Storage& storage() const { return storage_; }
  std::int64_t size() const { return shape_.unit(); }

  /// The elements. Errors: TypeError for another type than the tensor's.
  template <class T>
  std::span<const T> values() const {
    if (dtype_of<T> != dtype_)
      throw TypeError(
          (Message() << "tensor: elements of " << name_of(dtype_) << " are not " << name_of(dtype_of<T>)).string());
    return {storage_.as<T>(), static_cast<std::size_t>(size())};
  }
  /// Copies the elements to host memory. Errors: TypeError for another type, ShapeError for another number of elements.
  template <class T>
  void copy_to(std::span<T> to) const {
    const auto from = values<T>();
    if (to.size() != from.size())
      throw ShapeError((Message() << "tensor: " << size() << " values do not fit into "
                                  << static_cast<std::int64_t>(to.size())).string());
    std::copy(from.begin(), from.end(), to.begin());
  }
  /// The only element, as double. Errors: ShapeError where there is not exactly one.
  double item() const {
    if (size() != 1) throw ShapeError((Message() << "tensor: item() of shape " << shape_).string());
    return (*this)[0];
  }
  /// Element `i` in row-major order, as double. Errors: ShapeError where there is none.
  double operator[](std::int64_t i) const {
    if (i < 0 || i >= size()) throw ShapeError((Message() << "tensor: element " << i << " of shape " << shape_).string());
    switch (dtype_) {
      case DType::f32: return static_cast<double>(storage_.as<float>()[i]);
      case DType::f64: return storage_.as<double>()[i];
      case DType::i32: return storage_.as<std::int32_t>()[i];
      case DType::bf16: return static_cast<double>(static_cast<float>(storage_.as<bf16>()[i]));
      case DType::f16: break;
    }
    return static_cast<double>(static_cast<float>(storage_.as<f16>()[i]));
  }

 private:
  Device device_;
  DType dtype_;
  Shape shape_;
  eager::Storage storage_;
};

}  // namespace gradual
