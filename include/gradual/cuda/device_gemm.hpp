#pragma once
#include <cublasLt.h>

#include <cstddef>
#include <optional>
#include <string>

#include <gradual/cuda/device_library_handle.hpp>
#include <gradual/cuda/gemm_form.hpp>

namespace gradual::cuda {

/// Errors: DeviceError with the call and cuBLASLt's name of the error.
inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError(std::string(call) + ": " + cublasLtGetStatusName(status));
}

/// A product with the algorithm chosen for it.
struct Gemm {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t a, b, d;
  cublasLtMatmulAlgo_t algorithm;
};

/// cuBLASLt. It allocates its own memory on the device when it is made. Errors: DeviceError from the constructor.
class GemmLibrary {
 public:
  /// Returns the product with an algorithm for it; nothing where none fits. `bias`: where the epilogue adds one; `alignment`:
  /// of all operands, in bytes; `workspace`: the most bytes of it. Errors: DeviceError.
  std::optional<Gemm> find(const GemmForm& form, const float* bias, std::int64_t alignment,
                           std::int64_t workspace) const {
    Gemm gemm{};
    check(cublasLtMatmulDescInit(&gemm.product, compute_type(form), CUDA_R_32F), "cublasLtMatmulDescInit");
    set_transposed(gemm, CUBLASLT_MATMUL_DESC_TRANSA, form.transpose_a);
    set_transposed(gemm, CUBLASLT_MATMUL_DESC_TRANSB, form.transpose_b);
    if (form.epilogue != Epilogue::none) {
      const cublasLtEpilogue_t epilogue =
          form.epilogue == Epilogue::bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_RELU_BIAS;
      set(gemm, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
      set(gemm, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    lay_out(gemm.a, form.operands, form.rows_a(), form.m * form.k, form.count);
    lay_out(gemm.b, form.operands, form.rows_b(), form.k * form.n, form.count);
    lay_out(gemm.d, form.result, form.m, form.m * form.n, form.count);

    cublasLtMatmulPreferenceOpaque_t preference;
    check(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
      check(cublasLtMatmulPreferenceSetAttribute(&preference, what, &value, sizeof(value)),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace));
    if (is_small(form.result))  // partial sums are not rounded to 16 bits before they are added
      prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(operand, static_cast<std::uint32_t>(alignment));

    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_.get(), &gemm.product, &gemm.a, &gemm.b, &gemm.d,
                                                                 &gemm.d, &preference, 1, &found, &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0)) return {};
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    if (found.state != CUBLAS_STATUS_SUCCESS) return {};
    gemm.algorithm = found.algo;
    return gemm;
  }

  /// Queues the product on the stream; may be recorded.
  void run(const Gemm& gemm, const Stream& stream, const void* a, const void* b, float beta, void* d, void* workspace,
           std::int64_t bytes) const {
    const float alpha = 1;
    check(cublasLtMatmul(handle_.get(), const_cast<cublasLtMatmulDescOpaque_t*>(&gemm.product), &alpha, a, layout(gemm.a), b,
                         layout(gemm.b), &beta, d, layout(gemm.d), d, layout(gemm.d), &gemm.algorithm, workspace,
                         static_cast<std::size_t>(bytes), stream.handle()),
          "cublasLtMatmul");
  }

 private:
  static cublasLtHandle_t create() {
    cublasLtHandle_t handle = nullptr;
    check(cublasLtCreate(&handle), "cublasLtCreate");
    return handle;
  }
  static cublasComputeType_t compute_type(const GemmForm& form) {
    return is_small(form.operands) || form.precision == Precision::float32 ? CUBLAS_COMPUTE_32F
           : form.precision == Precision::tf32                             ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                           : CUBLAS_COMPUTE_32F_FAST_16BF;
  }
  static cudaDataType_t data_type(DType dtype) {
    return dtype == DType::bf16 ? CUDA_R_16BF : dtype == DType::f16 ? CUDA_R_16F : CUDA_R_32F;
  }
  static void set_transposed(Gemm& gemm, cublasLtMatmulDescAttributes_t operand, bool transposed) {
    set(gemm, operand, transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  }
  template <class T>
  static void set(Gemm& gemm, cublasLtMatmulDescAttributes_t what, const T& value) {
    check(cublasLtMatmulDescSetAttribute(&gemm.product, what, &value, sizeof(value)), "cublasLtMatmulDescSetAttribute");
  }
  static void lay_out(cublasLtMatrixLayoutOpaque_t& matrix, DType dtype, std::int64_t rows, std::int64_t elements,
                      std::int64_t count) {
    check(cublasLtMatrixLayoutInit(&matrix, data_type(dtype), static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(elements / rows), rows),
          "cublasLtMatrixLayoutInit");
    const auto set = [&](cublasLtMatrixLayoutAttribute_t what, auto value) {
      check(cublasLtMatrixLayoutSetAttribute(&matrix, what, &value, sizeof(value)), "cublasLtMatrixLayoutSetAttribute");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(count));
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, elements);
  }
  static cublasLtMatrixLayout_t layout(const cublasLtMatrixLayoutOpaque_t& matrix) {
    return const_cast<cublasLtMatrixLayout_t>(&matrix);
  }

  LibraryHandle<cublasLtHandle_t, &create> handle_;
};

}  // namespace gradual::cuda
