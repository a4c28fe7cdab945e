#pragma once
#include <optional>
#include <utility>
#include <vector>

#include <gradual/cuda/convolution_form.hpp>
#include <gradual/cuda/cudnn_descriptor.hpp>
#include <gradual/cuda/device_library_handle.hpp>

namespace gradual::cuda {

inline constexpr bool has_convolution_library = true;

/// A convolution with the engine chosen for it.
struct LibraryConvolution {
  CudnnDescriptor configuration, plan;
};

/// cuDNN, through graphs of one operation. Errors: DeviceError from the constructor.
class ConvolutionLibrary {
 public:
  /// Returns the convolution with an engine for it; nothing where none fits. `alignment`: of all operands, in bytes;
  /// `workspace`: the most bytes of it. Errors: DeviceError.
  std::optional<LibraryConvolution> find(const ConvolutionForm& form, std::int64_t alignment,
                                         std::int64_t workspace) const {
    CudnnDescriptor operation = operation_of(form, alignment);
    if (!operation.finish_if_supported()) return {};
    CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation).set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle_.get());
    if (!graph.finish_if_supported()) return {};
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
      if (!heuristics.finish_if_supported()) continue;
      std::vector<CudnnDescriptor> found;
      for (std::int64_t i = heuristics.count(CUDNN_ATTR_ENGINEHEUR_RESULTS); i > 0; --i)
        found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, found);
      for (CudnnDescriptor& configuration : found) {
        if (!keeps_bound(configuration, form)) continue;
        CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_.get()).set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
        if (!plan.finish_if_supported()) continue;
        if (plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1).at(0) > workspace) continue;
        return LibraryConvolution{std::move(configuration), std::move(plan)};
      }
    }
    return {};
  }

  /// Queues the convolution on the stream; may be recorded.
  void run(const LibraryConvolution& found, const Stream& stream, void* images, void* weights, void* outputs,
           void* workspace) const {
    check(cudnnSetStream(handle_.get(), stream.handle()), "cudnnSetStream");
    CudnnDescriptor operands(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    operands.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {id_of_images, id_of_weights, id_of_outputs})
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, {images, weights, outputs})
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace)
        .finish();
    check(cudnnBackendExecute(handle_.get(), found.plan.handle(), operands.handle()), "cudnnBackendExecute");
  }

 private:
  static cudnnHandle_t create() {
    cudnnHandle_t handle = nullptr;
    check(cudnnCreate(&handle), "cudnnCreate");
    return handle;
  }

  static constexpr std::int64_t id_of_images = 1, id_of_weights = 2, id_of_outputs = 3;

  /// cuDNN's names for an operation and its attributes.
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
        .set(name.images, tensor(id_of_images, form.images, c.groups * c.channels, c.y.in, c.x.in))
        .set(name.weights, tensor(id_of_weights, c.groups * c.outputs, c.channels, c.y.kernel, c.x.kernel))
        .set(name.outputs, tensor(id_of_outputs, form.images, c.groups * c.outputs, c.y.out, c.x.out))
        .set(name.alpha, 1.0f)
        .set(name.beta, form.adds ? 1.0f : 0.0f);
    return operation;
  }

  /// Whether an engine sums products as floats, in an order that is the same in each run, and rounds operands to TF32 at the
  /// coarsest, and only where that is allowed.
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
        default: return false;  // Fourier or Winograd transforms, 16-bit operands or sums, varying orders
      }
    return true;
  }

  static cudnnDataType_t data_type(DType type) {
    return type == DType::bf16 ? CUDNN_DATA_BFLOAT16 : type == DType::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
  }

  LibraryHandle<cudnnHandle_t, &create> handle_;
};

}  // namespace gradual::cuda
