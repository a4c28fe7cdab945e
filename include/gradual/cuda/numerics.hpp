#pragma once

namespace gradual {

/// How a GPU computes products and convolutions: in canonical order, to the processor's bits, or by cuBLASLt and cuDNN
/// (`CudaWith`). cuBLASLt may also apply the bias and the relu that follow a product; its relu may turn a NaN into 0.
enum class Numerics : unsigned char { reproducible, fast };

/// What `Numerics::fast` may round the operands of a product to. A sum C of k ≤ 2²⁰ products a·b differs from the exact one
/// by at most (2r + r² + k·2⁻²²)·Σ|a·b|, where r is 0, 2⁻¹⁰ or 2⁻⁷: no order of float additions does worse, whether they
/// round or truncate (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1). In a window k counts all its
/// positions.
enum class Precision : unsigned char {
  float32,  ///< no rounding
  tf32,     ///< 10 bits after the leading one, on tensor cores
  bfloat16  ///< 7 bits after the leading one, on tensor cores; cuDNN keeps 10
};

/// How kernels are launched. `by_size`: those of a small micro-batch all in one launch, run one after another by one cluster of
/// thread blocks. `separate`: each alone whatever its size, which shows what the former saves. The bits are the same.
enum class Launches : unsigned char { by_size, separate };

/// Returns r of the bound above.
constexpr double operand_rounding(Precision precision) {
  return precision == Precision::float32 ? 0 : precision == Precision::tf32 ? 0x1p-10 : 0x1p-7;
}

}  // namespace gradual
