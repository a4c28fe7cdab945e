// Matrix products at the edges of tiles, panels, packed chunks and blocks, alone and in parts: equal bits to chains
// written out, nothing read or written beyond the operands and the planned workspace.
#include <gtest/gtest.h>

#include <cmath>
#include <gradual/core/cpu/small_float_matmul.hpp>
#include <utility>

#include "../expect_window.hpp"

namespace product_kernels_test {

using namespace gradual;
using namespace kernels;

template <class T>
std::vector<T> product_by_hand(const cpu::MatmulForm& f, const Operand<T>& a, const Operand<T>& b, std::int64_t m) {
  std::vector<T> c;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < f.n; ++j)
      c.push_back(canonical_sum<T>(f.k, f.k, [&](T chain, std::int64_t l) {
        return math::fma(a[f.trans_a ? l * m + i : i * f.k + l], b[f.trans_b ? j * f.k + l : l * f.n + j], chain);
      }));
  return c;
}

/// Calls run(c, workspace, part) for every part, of one and of three parts, and compares c.
template <class T, class Run>
void expect_product(const std::vector<T>& expected, std::int64_t workspace, const std::string& what, Run run) {
  for (const int parts : {1, 3}) {
    Memory<T> c(static_cast<std::int64_t>(expected.size()));
    for (int part = 0; part < parts; ++part) {
      Memory<T> space(workspace);
      run(c.data(), space.data(), cpu::Part{part, parts});
      EXPECT_TRUE(space.kept_inside()) << what;
    }
    EXPECT_TRUE(c.kept_inside()) << what;
    EXPECT_EQ(first_difference(c, expected), -1) << what << ", " << parts << " parts";
  }
}

/// run: like `matmul`, without its form.
template <class T, class Run>
void expect_matmul_of(const cpu::MatmulForm& form, std::int64_t m, Run run) {
  const Operand<T> a(numbers<T>(m * form.k, 1)), b(numbers<T>(form.k * form.n, 2));
  const std::string what = std::to_string(m) + " x " + std::to_string(form.n) + " x " + std::to_string(form.k) +
                           (form.trans_a ? ", A transposed" : "") + (form.trans_b ? ", B transposed" : "");
  expect_product<T>(product_by_hand(form, a, b, m), form.workspace<T>(), what,
                    [&](T* c, T* space, cpu::Part part) { run(a.data(), b.data(), c, m, space, part); });
}

template <class T>
void expect_matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  for (int flags = 0; flags < 4; ++flags) {
    const cpu::MatmulForm form{n, k, flags % 2 == 1, flags / 2 == 1, m};
    expect_matmul_of<T>(form, m, [&](auto... arguments) { cpu::matmul(form, arguments...); });
  }
}

/// For sizes known at compile time.
template <class T, std::int64_t N, std::int64_t K, bool TransA = false, bool TransB = false>
void expect_static_matmul() {
  for (const std::int64_t m : {1, 2, 15, 32, 33, 71})
    expect_matmul_of<T>({N, K, TransA, TransB, m}, m, cpu::matmul<T, TransA, TransB, N, K>);
}
TEST(ProductKernels, MatmulOfStaticSizes) {
  expect_static_matmul<float, 1, 16>();
  expect_static_matmul<float, 1, 0>();
  expect_static_matmul<float, 1, 3, false, true>();
  expect_static_matmul<float, 1, 16, true>();
  expect_static_matmul<double, 1, 7>();
  expect_static_matmul<float, 16, 16, false, true>();
  expect_static_matmul<double, 5, 9, true, true>();
}

TEST(ProductKernels, MatmulAtTheEdges) {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 70})
    for (const std::int64_t m : {1, 2, 3, 7, 14, 23, 40})
      for (const std::int64_t k : {0, 1, 5, 127, 128, 129, 300}) {
        expect_matmul<float>(m, n, k);
        if (n < 32 && m < 20) expect_matmul<double>(m, n, k);
      }
}

TEST(ProductKernels, MatmulOfOperandsThatAreCopiedTogether) {
  expect_matmul<float>(15, 128, 65);  // rows of B lie far apart, and there are many
  expect_matmul<float>(17, 215, 130);
  expect_matmul<float>(37, 215, 130);  // and the first tile packs them for the others
  expect_matmul<double>(25, 81, 129);
  expect_matmul<float>(7, 34, 512);  // rows of A share few sets of the cache
  expect_matmul<float>(23, 140, 768);
  expect_matmul<float>(512, 34, 23);  // also of a transposed A
  expect_matmul<double>(768, 17, 131);
  expect_matmul<float>(28, 34, 512);  // twelve rows and sixteen
  expect_matmul<float>(22 * 12 + 9, 34, 512);  // more rows of A than are copied together
  expect_matmul<float>(45, 10, 512);           // few columns of such rows
  expect_matmul<double>(29, 5, 256);
  expect_matmul<float>(600, 225, 20);          // so large that outputs are prefetched
  expect_matmul<double>(15, 64, 256);
}

TEST(ProductKernels, MatmulOfFewRowsInWidePanels) {
  for (const std::int64_t m : {1, 2, 3, 4, 5})
    for (const std::int64_t n : {63, 64, 65, 127, 128, 160, 300})
      for (const std::int64_t k : {1, 64, 128, 300}) expect_matmul<float>(m, n, k);
  for (const std::int64_t m : {1, 2, 4}) expect_matmul<double>(m, 100, 130);
}

TEST(ProductKernels, MatmulOfFewColumnsAndManyRows) {
  for (const std::int64_t n : {2, 4, 5, 8, 9, 12, 13})
    for (const std::int64_t m : {63, 64, 65, 130})
      for (const std::int64_t k : {0, 1, 128, 300}) expect_matmul<float>(m, n, k);
  for (const std::int64_t m : {31, 32, 70}) expect_matmul<double>(m, 5, 130);
}

/// Returns elements of 16 bits, and the same values as floats.
template <class E>
std::pair<std::vector<E>, std::vector<float>> small_numbers(std::int64_t count, unsigned seed) {
  const auto values = numbers<float>(count, seed);
  const std::vector<E> small(values.begin(), values.end());
  return {small, {small.begin(), small.end()}};
}

template <class E>
void expect_small_matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  for (int flags = 0; flags < 4; ++flags) {
    const cpu::MatmulForm form{n, k, flags % 2 == 1, flags / 2 == 1, m};
    const auto a = small_numbers<E>(m * k, 1), b = small_numbers<E>(k * n, 2);
    const Operand<E> x(a.first), y(b.first);
    const std::vector<float> expected = product_by_hand(form, Operand<float>(a.second), Operand<float>(b.second), m);
    for (const int parts : {1, 3}) {
      std::vector<E> c(expected.size());
      for (int part = 0; part < parts; ++part) {
        Memory<float> space(cpu::workspace_of<E>(form));
        cpu::matmul(form, x.data(), y.data(), c.data(), m, space.data(), {part, parts});
        EXPECT_TRUE(space.kept_inside());
      }
      for (std::size_t i = 0; i < c.size(); ++i)
        ASSERT_EQ(c[i].bits, E(expected[i]).bits) << m << " x " << n << " x " << k << ", flags " << flags << ", " << i;
    }
  }
}

TEST(ProductKernels, MatmulOfSixteenBitsRoundsEachSumOnce) {
  for (const std::int64_t n : {1, 16, 33, 70, 200})
    for (const std::int64_t m : {1, 7, 23, 100})
      for (const std::int64_t k : {0, 5, 128, 300}) expect_small_matmul<bf16>(m, n, k);
  expect_small_matmul<f16>(49, 33, 129);
}

template <std::int64_t N, std::int64_t K, bool TransA, bool TransB>
void expect_known_matmul(std::int64_t m) {
  const cpu::MatmulForm form{N, K, TransA, TransB, m};
  const Operand<float> a(numbers<float>(m * K, 1)), b(numbers<float>(K * N, 2));
  expect_product<float>(product_by_hand(form, a, b, m), form.workspace<float>(), "known " + std::to_string(N),
                        [&](float* c, float* space, cpu::Part part) {
                          cpu::matmul<float, TransA, TransB, N, K>(a.data(), b.data(), c, m, space, part);
                        });
}

TEST(ProductKernels, MatmulOfSizesKnownToTheCompiler) {
  for (const std::int64_t m : {1, 2, 7, 23, 41}) {
    expect_known_matmul<16, 16, false, false>(m);
    expect_known_matmul<5, 3, true, false>(m);
    expect_known_matmul<7, 9, false, true>(m);
    expect_known_matmul<1, 8, false, false>(m);
    expect_known_matmul<17, 2, false, false>(m);
  }
}

template <class T, class W = T>
std::vector<W> contraction_by_hand(const cpu::BatchContractionForm& f, const Operand<T>& a, const Operand<T>& g,
                                   std::int64_t samples) {
  std::vector<W> total;
  for (std::int64_t i = 0; i < f.i; ++i)
    for (std::int64_t j = 0; j < f.j; ++j)
      total.push_back(canonical_sum<T, W>(samples * f.p, f.p, [&](T chain, std::int64_t s) {
        return math::fma(a[s * f.i + i], g[s * f.j + j], chain);
      }));
  return total;
}

template <class T, class W = T>
void expect_batch_contraction(const cpu::BatchContractionForm& form, std::int64_t samples) {
  const Operand<T> a(numbers<T>(samples * form.p * form.i, 1)), g(numbers<T>(samples * form.p * form.j, 2));
  const std::string what = std::to_string(form.i) + " x " + std::to_string(form.j) + ", " + std::to_string(form.p) +
                           " positions of " + std::to_string(samples) + " samples";
  expect_window<T>(contraction_by_hand<T, W>(form, a, g, samples), samples, form.p, form.workspace<T>(), what,
                   [&](const cpu::WindowPart<T, W>& window, T* space, cpu::Part part) {
                     cpu::batch_contraction(form, a.data() + window.begin * form.i, g.data() + window.begin * form.j,
                                            window, space, part);
                   });
}

template <class E>
void expect_small_contraction(const cpu::BatchContractionForm& form, std::int64_t samples) {
  const auto a = small_numbers<E>(samples * form.p * form.i, 1), g = small_numbers<E>(samples * form.p * form.j, 2);
  const Operand<E> x(a.first), y(g.first);
  expect_window<float>(contraction_by_hand<float>(form, Operand<float>(a.second), Operand<float>(g.second), samples), samples,
                       form.p, form.workspace<E>(), "16 bits, " + std::to_string(form.i) + " x " + std::to_string(form.j),
                       [&](const cpu::WindowPart<float>& window, float* space, cpu::Part part) {
                         cpu::batch_contraction(form, x.data() + window.begin * form.i, y.data() + window.begin * form.j,
                                                window, space, part);
                       });
}

TEST(ProductKernels, BatchContractionAtTheEdges) {
  for (const std::int64_t j : {1, 2, 16, 17, 33, 70})
    for (const std::int64_t i : {1, 2, 7, 15, 40}) expect_batch_contraction<float>({i, j, 1}, 260);
  for (const std::int64_t p : {2, 3, 5, 43, 64, 65, 127, 128, 129, 200, 300}) {
    expect_batch_contraction<float>({3, 5, p}, 1 + 300 / p);
    expect_batch_contraction<double>({2, 9, p}, 1 + 300 / p);
  }
}

TEST(ProductKernels, BatchContractionOfFloatsToSumsInDouble) {
  for (const std::int64_t j : {1, 2, 16, 17, 33, 70})
    for (const std::int64_t i : {1, 7, 40}) expect_batch_contraction<float, double>({i, j, 1}, 260);
  for (const std::int64_t p : {3, 128, 200}) expect_batch_contraction<float, double>({3, 5, p}, 1 + 300 / p);
  expect_batch_contraction<float, double>({512, 300, 1}, 70);  // so large that outputs are prefetched
}

TEST(ProductKernels, BatchContractionOfOperandsThatAreCopiedTogether) {
  expect_batch_contraction<float>({3, 128, 1}, 130);   // rows of g lie far apart
  expect_batch_contraction<float>({512, 130, 1}, 130);  // rows of a lie far apart, and are read for many columns
  expect_batch_contraction<float>({768, 1, 3}, 50);    // one column, seen as a row
  expect_batch_contraction<float>({512, 300, 1}, 70);  // so large that outputs are prefetched
}

TEST(ProductKernels, BatchContractionOfFewColumns) {  // vectors go along a
  for (const std::int64_t j : {2, 4, 5, 8, 9, 12, 13})
    for (const std::int64_t i : {63, 64, 70, 97}) expect_batch_contraction<float>({i, j, 1}, 200);
  for (const std::int64_t p : {3, 43, 128, 200}) {
    expect_batch_contraction<double>({33, 3, p}, 1 + 300 / p);
    expect_batch_contraction<float, double>({67, 10, p}, 1 + 300 / p);
  }
}

TEST(ProductKernels, ContractionsOfSixteenBitsStayFloat) {
  for (const std::int64_t j : {1, 16, 33, 70})
    for (const std::int64_t i : {1, 7, 130}) expect_small_contraction<bf16>({i, j, 1}, 260);
  expect_small_contraction<f16>({3, 5, 200}, 3);
}

TEST(ProductKernels, BatchContractionOfSizesKnownToTheCompiler) {
  const auto expect =
      [&]<std::int64_t I, std::int64_t J, std::int64_t P>(std::integer_sequence<std::int64_t, I, J, P>) {
        constexpr cpu::BatchContractionForm form{I, J, P};
        constexpr std::int64_t samples = 140;
        const Operand<float> a(numbers<float>(samples * P * I, 1)), g(numbers<float>(samples * P * J, 2));
        expect_window<float>(contraction_by_hand(form, a, g, samples), samples, P, form.workspace<float>(),
                             "known " + std::to_string(J),
                             [&](const cpu::WindowPart<float>& window, float* space, cpu::Part part) {
                               cpu::batch_contraction<float, I, J, P>(a.data() + window.begin * I,
                                                                      g.data() + window.begin * J, window, space, part);
                             });
      };
  expect(std::integer_sequence<std::int64_t, 16, 16, 1>{});
  expect(std::integer_sequence<std::int64_t, 5, 7, 3>{});
  expect(std::integer_sequence<std::int64_t, 9, 1, 1>{});
  expect(std::integer_sequence<std::int64_t, 17, 3, 1>{});
  expect(std::integer_sequence<std::int64_t, 65, 3, 1>{});
}

TEST(ProductKernels, ABlockThatUnderflowsBelowZeroIsAddedToPlusZero) {
  const Operand<float> a({1e-30f}), b({-1e-30f});
  EXPECT_EQ(math::fma(a[0], b[0], 0.0f), 0.0f);
  EXPECT_TRUE(std::signbit(math::fma(a[0], b[0], 0.0f)));
  for (const std::int64_t columns : {1, 70}) {
    const Operand<float> many(std::vector<float>(static_cast<std::size_t>(columns), b[0]));
    const cpu::MatmulForm form{columns, 1};
    const std::vector<float> zeros(static_cast<std::size_t>(columns));
    expect_product<float>(zeros, form.workspace<float>(), "one step", [&](float* c, float* space, cpu::Part part) {
      cpu::matmul(form, a.data(), many.data(), c, 1, space, part);
    });
  }
  Memory<float> total(1), open(1), space(1);
  cpu::batch_contraction({1, 1, 1}, a.data(), b.data(), {total.data(), open.data(), 0, 1, true, true}, space.data());
  EXPECT_EQ(first_difference(total, {0.0f}), -1);
}

TEST(ProductKernels, AWindowWithoutSamplesLeavesItsSumsAlone) {
  for (const std::int64_t i : {2, 64}) {
    const cpu::BatchContractionForm form{i, 3, 1};
    Memory<float> total(numbers<float>(3 * i, 1)), open(3 * i), space(form.workspace<float>());
    cpu::batch_contraction(form, total.data(), total.data(), {total.data(), open.data(), 0, 0, true, true}, space.data());
    EXPECT_EQ(first_difference(total, numbers<float>(3 * i, 1)), -1);
  }
}

}  // namespace product_kernels_test
