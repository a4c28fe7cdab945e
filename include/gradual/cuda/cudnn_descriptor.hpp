#pragma once
#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradual/cuda/runtime.hpp>

namespace gradual::cuda {

/// Errors: DeviceError with the call and cuDNN's own message.
inline void check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char why[256] = "";
  cudnnGetLastErrorString(why, sizeof(why));
  throw DeviceError(std::string(call) + ": " + cudnnGetErrorString(status) + " " + why);
}

namespace detail {

template <class T>
constexpr cudnnBackendAttributeType_t cudnn_type_of() {
  if constexpr (std::is_same_v<T, std::int64_t>) return CUDNN_TYPE_INT64;
  else if constexpr (std::is_same_v<T, float>) return CUDNN_TYPE_FLOAT;
  else if constexpr (std::is_same_v<T, void*>) return CUDNN_TYPE_VOID_PTR;
  else if constexpr (std::is_same_v<T, cudnnHandle_t>) return CUDNN_TYPE_HANDLE;
  else if constexpr (std::is_same_v<T, cudnnDataType_t>) return CUDNN_TYPE_DATA_TYPE;
  else if constexpr (std::is_same_v<T, cudnnConvolutionMode_t>) return CUDNN_TYPE_CONVOLUTION_MODE;
  else if constexpr (std::is_same_v<T, cudnnBackendHeurMode_t>) return CUDNN_TYPE_HEUR_MODE;
  else {
    static_assert(std::is_same_v<T, cudnnBackendNumericalNote_t>);
    return CUDNN_TYPE_NUMERICAL_NOTE;
  }
}

}  // namespace detail

/// A cuDNN descriptor, whose attributes are set before it is finalized.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type) {
    check(cudnnBackendCreateDescriptor(type, &at_), "cudnnBackendCreateDescriptor");
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  ~CudnnDescriptor() {
    if (at_ != nullptr) cudnnBackendDestroyDescriptor(at_);
  }

  template <class T>
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, std::initializer_list<T> values) {
    return set(name, detail::cudnn_type_of<T>(), std::ssize(values), values.begin());
  }
  template <class T>
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, T value) {
    return set(name, {value});
  }
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.at_);
  }
  void finish() { check(cudnnBackendFinalize(at_), "cudnnBackendFinalize"); }
  /// Returns false where cuDNN or the device does not support what was asked for.
  bool finish_if_supported() {
    const cudnnStatus_t status = cudnnBackendFinalize(at_);
    if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED) return false;
    check(status, "cudnnBackendFinalize");
    return true;
  }

  /// Returns at most `room` values.
  template <class T>
  std::vector<T> get(cudnnBackendAttributeName_t name, std::int64_t room) const {
    std::vector<T> values(static_cast<std::size_t>(room));
    values.resize(get(name, detail::cudnn_type_of<T>(), room, values.data()));
    return values;
  }
  /// Reads into descriptors of the right type; drops those that get no value.
  void get(cudnnBackendAttributeName_t name, std::vector<CudnnDescriptor>& others) const {
    std::vector<cudnnBackendDescriptor_t> at;
    for (const CudnnDescriptor& other : others) at.push_back(other.at_);
    const std::size_t got = get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::ssize(at), at.data());
    while (others.size() > got) others.pop_back();
  }
  std::int64_t count(cudnnBackendAttributeName_t name) const {
    return static_cast<std::int64_t>(get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr));
  }
  cudnnBackendDescriptor_t handle() const { return at_; }

 private:
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                       const void* values) {
    check(cudnnBackendSetAttribute(at_, name, type, count, values), "cudnnBackendSetAttribute");
    return *this;
  }
  std::size_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room,
                  void* values) const {
    std::int64_t count = 0;
    check(cudnnBackendGetAttribute(at_, name, type, room, &count, values), "cudnnBackendGetAttribute");
    return static_cast<std::size_t>(room == 0 || count < room ? count : room);
  }

  cudnnBackendDescriptor_t at_ = nullptr;
};

}  // namespace gradual::cuda
