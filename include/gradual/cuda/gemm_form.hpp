#pragma once
#include <cstdint>

#include <gradual/core/dtype.hpp>
#include <gradual/cuda/numerics.hpp>

namespace gradual::cuda {

/// What is done to D before it is stored: the bias of its row, as BLAS sees rows, is added, and negative numbers become 0. The
/// library's relu may turn a NaN into 0, too.
enum class Epilogue : unsigned char { none, bias, bias_relu };

/// D = op(A)·op(B) + beta·D for each of `count` triples of matrices of float or 16 bits, summed in float, as BLAS sees them:
/// stored column after column, without gaps. op(A) is m × k, op(B) is k × n, D is m × n; what is transposed is stored as its
/// transpose.
struct GemmForm {
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  bool transpose_a = false, transpose_b = false;
  Precision precision = Precision::float32;  ///< of products of floats
  DType operands = DType::f32, result = DType::f32;
  Epilogue epilogue = Epilogue::none;

  /// Rows as they are stored, which is also the stride from one column to the next.
  constexpr std::int64_t rows_a() const { return transpose_a ? k : m; }
  constexpr std::int64_t rows_b() const { return transpose_b ? n : k; }
};

}  // namespace gradual::cuda
