#pragma once
#include <bit>
#include <cstddef>
#include <optional>

#include <gradual/cuda/gemm_form.hpp>
#include <gradual/cuda/runtime.hpp>

namespace gradual::cuda {

struct Gemm {
  GemmForm form;
  const float* bias = nullptr;
};

/// Stands in for cuBLASLt: the same layouts, one chain of float sums, operands rounded as coarsely as `Precision` allows.
class GemmLibrary {
 public:
  std::optional<Gemm> find(const GemmForm& form, const float* bias, std::int64_t /*alignment*/,
                           std::int64_t /*workspace*/) const {
    return Gemm{form, bias};
  }

  void run(const Gemm& g, const Stream& stream, const float* a, const float* b, float beta, float* d, void* /*workspace*/,
           std::int64_t /*bytes*/) const {
    stream.enqueue([=] { multiply(g.form, g.bias, a, b, beta, d); });
  }

 private:
  static void multiply(const GemmForm& g, const float* bias, const float* a, const float* b, float beta, float* d) {
    for (std::int64_t i = 0; i < g.count; ++i, a += g.m * g.k, b += g.k * g.n, d += g.m * g.n)
      for (std::int64_t column = 0; column < g.n; ++column)
        for (std::int64_t row = 0; row < g.m; ++row) {
          float sum = 0;
          for (std::int64_t l = 0; l < g.k; ++l) {
            const float x = a[g.transpose_a ? l + row * g.rows_a() : row + l * g.rows_a()];
            const float y = b[g.transpose_b ? column + l * g.rows_b() : l + column * g.rows_b()];
            sum += rounded(x, g.precision) * rounded(y, g.precision);
          }
          float& to = d[row + column * g.m];
          if (beta != 0) sum += beta * to;  // what is not asked for is not read: it may be a NaN
          if (g.epilogue != Epilogue::none) sum += bias[row];
          to = g.epilogue == Epilogue::bias_relu && !(sum > 0) ? 0 : sum;
        }
  }

  static float rounded(float x, Precision precision) {
    const std::uint32_t lost = precision == Precision::float32 ? 0u : precision == Precision::tf32 ? 0x1fffu : 0xffffu;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~lost);
  }
};

}  // namespace gradual::cuda
