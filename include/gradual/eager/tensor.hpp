#pragma once
#include <initializer_list>
#include <span>
#include <string>

#include <gradual/autodiff/with_type.hpp>
#include <gradual/eager/device.hpp>

namespace gradual {

/// Numbers on a device, row-major: a handle to immutable memory that all its copies share.
class Tensor {
 public:
  /// Wraps `storage`, which holds bytes_of(shape, 1, dtype) bytes.
  Tensor(const Device& device, DType dtype, const Shape& shape, eager::Storage storage)
      : device_(device), dtype_(dtype), shape_(shape), storage_(std::move(storage)) {}

  // A move is a copy of the handle, so that a moved-from tensor keeps its values.
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;

  /// Copies `values` to the device. Errors: ShapeError if the shape has another number of elements, MemoryError.
  template <class T>
  static Tensor from(const Device& device, std::span<const T> values, const Shape& shape) {
    if (shape.batched())
      throw ShapeError((Message() << "tensor: shape " << shape << " has samples; a tensor has none").string());
    const std::int64_t bytes = eager::bytes_of(shape, 1, dtype_of<T>);
    if (static_cast<std::int64_t>(values.size_bytes()) != bytes)
      throw ShapeError((Message() << "tensor: " << static_cast<std::int64_t>(values.size()) << " values do not fill shape "
                                  << shape).string());
    Tensor result(device, dtype_of<T>, shape, device.allocate(bytes));
    device.copy(result.storage_.data(), values.data(), bytes);
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

  /// Returns the elements in place. Errors: TypeError for a type other than the tensor's, DeviceError if the host cannot read
  /// the device's memory: `to(Device::cpu())` can be read.
  template <class T>
  std::span<const T> values() const {
    check_type<T>();
    if (!device_.shares_host_memory())
      throw DeviceError(std::string("tensor: its values lie on ") + device_.name() +
                        ": copy_to fetches them, to(Device::cpu()) makes a tensor of them");
    return {storage_.as<T>(), static_cast<std::size_t>(size())};
  }
  /// Copies the elements to host memory. Errors: TypeError for another type, ShapeError for another number of elements.
  template <class T>
  void copy_to(std::span<T> to) const {
    check_type<T>();
    if (static_cast<std::int64_t>(to.size()) != size())
      throw ShapeError((Message() << "tensor: " << size() << " values do not fit into "
                                  << static_cast<std::int64_t>(to.size())).string());
    device_.read(to.data(), storage_.data(), static_cast<std::int64_t>(to.size_bytes()));
  }
  /// Copies the tensor to another device. Errors: MemoryError.
  Tensor to(const Device& device) const;
  /// Returns the only element, as double. Errors: ShapeError if there is not exactly one.
  double item() const;
  /// Returns element `i` in row-major order, as double. Errors: ShapeError if there is none.
  double operator[](std::int64_t i) const;

 private:
  template <class T>
  void check_type() const {
    if (dtype_of<T> != dtype_)
      throw TypeError(
          (Message() << "tensor: its elements are " << name_of(dtype_) << ", not " << name_of(dtype_of<T>)).string());
  }

  Device device_;
  DType dtype_;
  Shape shape_;
  eager::Storage storage_;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/tensor.ipp>
#endif
