// Matrix products in canonical order against OpenBLAS: one thread, hot, medians of interleaved rounds. N and T say
// whether an operand is read transposed; TN is also how weight gradients are summed over a batch.
#include <cstdio>

#include <gradual/core/cpu/batch_contraction.hpp>

#include "nets.hpp"
#if defined(GRADUAL_BENCH_OPENBLAS)
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
extern "C" char* openblas_get_corename();
#endif

using namespace nets;

namespace {

/// Memory aligned to a cache line, like a session's arena.
class Matrix {
 public:
  explicit Matrix(std::int64_t elements) : block_(elements * std::int64_t{sizeof(float)}) {
    const auto values = numbers(static_cast<std::size_t>(elements), 1);
    std::copy(values.begin(), values.end(), data());
  }
  float* data() const { return reinterpret_cast<float*>(block_.data()); }

 private:
  HeapBlock block_;
};

template <bool TransA, bool TransB, std::int64_t M, std::int64_t N, std::int64_t K>
void row() {
  const Matrix a(M * K), b(K * N), ours(M * N), theirs(M * N), workspace(1 << 17);
  const int repeats = 1 + static_cast<int>(2e6 / (static_cast<double>(M) * N * K));
  const auto run = [&] {
    for (int i = 0; i < repeats; ++i)
      cpu::matmul<float, TransA, TransB, N, K>(a.data(), b.data(), ours.data(), M, workspace.data());
  };
  std::vector<double> times, peer;
  for (int round = 0; round < 31; ++round) {
    times.push_back(seconds(run) / repeats);
#if defined(GRADUAL_BENCH_OPENBLAS)
    peer.push_back(seconds([&] {
                     for (int i = 0; i < repeats; ++i)
                       cblas_sgemm(CblasRowMajor, TransA ? CblasTrans : CblasNoTrans, TransB ? CblasTrans : CblasNoTrans, M, N,
                                   K, 1.0f, a.data(), TransA ? M : K, b.data(), TransB ? K : N, 0.0f, theirs.data(), N);
                   }) / repeats);
#endif
  }
  std::printf("%5lld x%5lld x%5lld  %c%c %12.3f %12.2f", static_cast<long long>(M), static_cast<long long>(N),
              static_cast<long long>(K), TransA ? 'T' : 'N', TransB ? 'T' : 'N', 1e6 * median(times),
              2.0 * M * N * K / median(times) / fma_peak());
  if (peer.empty()) std::printf(" %14s\n", "not measured");
  else std::printf(" %14.3f %8.2f\n", 1e6 * median(peer), median(peer) / median(times));
}

template <std::int64_t M, std::int64_t N, std::int64_t K>
void rows() {
  row<false, false, M, N, K>();
  row<false, true, M, N, K>();
  row<true, false, M, N, K>();
  row<true, true, M, N, K>();
}

}  // namespace

int main() {
#if defined(GRADUAL_BENCH_OPENBLAS)
  openblas_set_num_threads(1);
  std::printf("OpenBLAS has kernels for %s here; OPENBLAS_CORETYPE=SkylakeX chooses others\n", openblas_get_corename());
#endif
  std::printf("%5s %6s %6s  %2s %12s %12s %14s %8s\n", "m", "n", "k", "", "gradual us", "of FMA peak", "OpenBLAS us", "ratio");
  rows<4, 4, 4>(), rows<8, 8, 8>(), rows<10, 10, 10>(), rows<12, 12, 12>(), rows<16, 16, 16>();
  rows<32, 32, 32>(), rows<64, 64, 64>(), rows<128, 128, 128>(), rows<256, 256, 256>(), rows<512, 512, 512>();
  rows<64, 10, 128>(), rows<32, 1, 16>(), rows<64, 1, 64>(), rows<256, 10, 1024>(), rows<64, 16, 64>(), rows<1, 64, 64>();
  rows<64, 64, 1>(), rows<64, 64, 4>(), rows<4, 64, 64>();
}
