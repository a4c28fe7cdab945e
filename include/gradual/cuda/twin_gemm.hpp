#pragma once
#include <optional>

#include <gradual/cuda/gemm_form.hpp>
#include <gradual/cuda/runtime.hpp>
#include <gradual/cuda/twin_operands.hpp>

namespace gradual::cuda {

struct Gemm {
  GemmForm form;
  const float* bias = nullptr;
};

/// The most products at once for which the twin's library has algorithms: cuBLASLt may have none beyond 65535.
inline std::int64_t twin_most_products = 65535;

/// Stands in for cuBLASLt: the same layouts, one chain of float sums, operands rounded as coarsely as `Precision` allows.
class GemmLibrary {
 public:
  std::optional<Gemm> find(const GemmForm& form, const float* bias, std::int64_t /*alignment*/,
                           std::int64_t /*workspace*/) const {
    if (form.count > twin_most_products) return {};
    return Gemm{form, bias};
  }

  void run(const Gemm& g, const Stream& stream, const void* a, const void* b, float beta, void* d, void* /*workspace*/,
           std::int64_t /*bytes*/) const {
    stream.enqueue([=] {
      with_elements(g.form.operands, [&](auto e) {
        with_elements(g.form.result, [&](auto c) {
          using E = decltype(e);
          using C = decltype(c);
          multiply(g.form, g.bias, static_cast<const E*>(a), static_cast<const E*>(b), beta, static_cast<C*>(d));
        });
      });
    });
  }

 private:
  template <class E, class C>
  static void multiply(const GemmForm& g, const float* bias, const E* a, const E* b, float beta, C* d) {
    for (std::int64_t i = 0; i < g.count; ++i, a += g.m * g.k, b += g.k * g.n, d += g.m * g.n)
      for (std::int64_t column = 0; column < g.n; ++column)
        for (std::int64_t row = 0; row < g.m; ++row) {
          float sum = 0;
          for (std::int64_t l = 0; l < g.k; ++l) {
            const auto x = static_cast<float>(a[g.transpose_a ? l + row * g.rows_a() : row + l * g.rows_a()]);
            const auto y = static_cast<float>(b[g.transpose_b ? column + l * g.rows_b() : l + column * g.rows_b()]);
            sum += rounded(x, g.precision) * rounded(y, g.precision);
          }
          C& to = d[row + column * g.m];
          if (beta != 0) sum += beta * static_cast<float>(to);  // else not read: it may be a NaN
          if (g.epilogue != Epilogue::none) sum += bias[row];
          to = C(g.epilogue == Epilogue::bias_relu && !(sum > 0) ? 0 : sum);
        }
  }
};

}  // namespace gradual::cuda
