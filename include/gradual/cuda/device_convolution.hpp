#pragma once
#include <cudnn.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gradual/cuda/convolution_form.hpp>
#include <gradual/cuda/runtime.hpp>

namespace gradual::cuda {

/// Errors: DeviceError naming the call and cuDNN's own words.
inline void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) throw DeviceError(std::string(call) + ": " + cudnnGetErrorString(status));
}

namespace detail {

template <class T>
constexpr cudnnBackendAttributeType_t type_of_attribute() = delete;
template <>
constexpr cudnnBackendAttributeType_t type_of_attribute<std::int64_t>() { return CUDNN_TYPE_INT64; }
template <>
constexpr cudnnBackendAttributeType_t type_of_attribute<float>() { return CUDNN_TYPE_FLOAT; }
template <>
constexpr cudnnBackendAttributeType_t type_of_attribute<void*>() { return CUDNN_TYPE_VOID_PTR; }
template <>
constexpr cudnnBackendAttributeType_t type_of_attribute<cudnnHandle_t>() { return CUDNN_TYPE_HANDLE; }
template <>
constexpr cudnnBackendAttributeType_t type_of_attribute<cudnnDataType_t>() { return CUDNN_TYPE_DATA_TYPE; }
template <>
constexpr cudnnBackendAttributeType_t type_of_attribute<cudnnConvolutionMode_t>() { return CUDNN_TYPE_CONVOLUTION_MODE; }
template <>
constexpr cudnnBackendAttributeType_t type_of_attribute<cudnnBackendHeurMode_t>() { return CUDNN_TYPE_HEUR_MODE; }
template <>
constexpr cudnnBackendAttributeType_t type_of_attribute<cudnnBackendNumericalNote_t>() { return CUDNN_TYPE_NUMERICAL_NOTE; }

}  // namespace detail

/// An object of cuDNN, which is told its attributes and then made final.
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
    return set(name, detail::type_of_attribute<T>(), std::ssize(values), values.begin());
  }
  template <class T>
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, T value) {
    return set(name, {value});
  }
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.at_);
  }
  CudnnDescriptor& finish() {
    check(try_to_finish(), "cudnnBackendFinalize");
    return *this;
  }
  cudnnStatus_t try_to_finish() { return cudnnBackendFinalize(at_); }

  /// At most as many values as there is room for.
  template <class T>
  std::vector<T> get(cudnnBackendAttributeName_t name, std::int64_t room) const {
    std::vector<T> values(static_cast<std::size_t>(room));
    values.resize(get(name, detail::type_of_attribute<T>(), room, values.data()));
    return values;
  }
  /// Into descriptors of the right type.
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

/// A convolution with the engine that was chosen for it.
struct LibraryConvolution {
  CudnnDescriptor configuration, plan;
};

/// cuDNN, through its graphs of one operation.
class ConvolutionLibrary {
 public:
  ConvolutionLibrary() { check(cudnnCreate(&handle_), "cudnnCreate"); }
  ConvolutionLibrary(ConvolutionLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~ConvolutionLibrary() {
    if (handle_ != nullptr) cudnnDestroy(handle_);
  }

  /// `alignment`: of all operands, in bytes; `workspace`: most bytes of it. Nothing where no engine fits. Errors:
  /// DeviceError.
  std::optional<LibraryConvolution> find(const ConvolutionForm& form, std::int64_t alignment,
                                         std::int64_t workspace) const {
    const CudnnDescriptor operation = operation_of(form, alignment);
    CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation).set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle_).finish();
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
      if (heuristics.try_to_finish() != CUDNN_STATUS_SUCCESS) continue;  // it knows none
      std::vector<CudnnDescriptor> found;
      for (std::int64_t i = heuristics.count(CUDNN_ATTR_ENGINEHEUR_RESULTS); i > 0; --i)
        found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, found);
      for (CudnnDescriptor& configuration : found) {
        if (!keeps_bound(configuration, form)) continue;
        CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_).set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
        if (plan.try_to_finish() != CUDNN_STATUS_SUCCESS) continue;  // not on this device
        if (plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1).at(0) > workspace) continue;
        return LibraryConvolution{std::move(configuration), std::move(plan)};
      }
    }
    return {};
  }

  /// Asks the stream for it; may be recorded.
  void run(const LibraryConvolution& found, const Stream& stream, void* images, void* weights, void* outputs,
           void* workspace) const {
    check(cudnnSetStream(handle_, stream.handle()), "cudnnSetStream");
    CudnnDescriptor operands(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    operands.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {id_of_images, id_of_weights, id_of_outputs})
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, {images, weights, outputs})
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace)
        .finish();
    check(cudnnBackendExecute(handle_, found.plan.handle(), operands.handle()), "cudnnBackendExecute");
  }

 private:
  static constexpr std::int64_t id_of_images = 1, id_of_weights = 2, id_of_outputs = 3;

  /// What cuDNN calls an operation and its attributes.
  struct Names {
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t walk, images, weights, outputs, alpha, beta;
  };
  static Names names(ConvolutionPart part) {
    if (part == ConvolutionPart::outputs)
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    if (part == ConvolutionPart::images)
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }

  static CudnnDescriptor operation_of(const ConvolutionForm& form, std::int64_t alignment) {
    const Convolution& c = form.of;
    const auto tensor = [&](std::int64_t id, std::int64_t count, std::int64_t planes, std::int64_t rows,
                            std::int64_t columns) {
      CudnnDescriptor t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
      t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, data_type(form.type))
          .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {count, planes, rows, columns})
          .set(CUDNN_ATTR_TENSOR_STRIDES, {planes * rows * columns, rows * columns, columns, std::int64_t{1}})
          .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
          .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment)
          .finish();
      return t;
    };
    CudnnDescriptor walk(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    walk.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
        .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {c.y.dilation, c.x.dilation})
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {c.y.stride, c.x.stride})
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {c.y.before, c.x.before})
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {c.y.before, c.x.before})
        .finish();
    const Names name = names(form.part);
    CudnnDescriptor operation(name.operation);
    operation.set(name.walk, walk)
        .set(name.images, tensor(id_of_images, form.images, c.channels, c.y.in, c.x.in))
        .set(name.weights, tensor(id_of_weights, c.outputs, c.channels, c.y.kernel, c.x.kernel))
        .set(name.outputs, tensor(id_of_outputs, form.images, c.outputs, c.y.out, c.x.out))
        .set(name.alpha, 1.0f)
        .set(name.beta, form.adds ? 1.0f : 0.0f)
        .finish();
    return operation;
  }

  /// Whether an engine sums products in floats, in some order that is the same in each run, and rounds operands to no less
  /// than TF32 where that much is allowed.
  static bool keeps_bound(const CudnnDescriptor& configuration, const ConvolutionForm& form) {
    std::vector<CudnnDescriptor> engine;
    engine.emplace_back(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    configuration.get(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    const bool exact = form.type == DType::f32 && form.precision == Precision::float32;
    for (const auto note :
         engine.at(0).get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT))
      switch (note) {
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
          if (exact) return false;
          break;
        case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP: break;
        default: return false;  // Fourier's or Winograd's transforms, operands or sums of 16 bits, orders that change
      }
    return true;
  }

  static cudnnDataType_t data_type(DType type) {
    return type == DType::bf16 ? CUDNN_DATA_BFLOAT16 : type == DType::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
  }

  cudnnHandle_t handle_ = nullptr;
};

}  // namespace gradual::cuda
