// Predictions of a small net, 32-64-64-8, a few samples at a time, against one written by hand for these sizes: one thread,
// medians of interleaved rounds, the same bits.
#include <cstdio>
#include <utility>

#include "nets.hpp"

using namespace nets;

namespace {

struct Policy {
  nn::Linear a, b, c;
  constexpr explicit Policy(Scope s) : a(s / "a", 32, 64), b(s / "b", 64, 64), c(s / "c", 64, 8) {}
  constexpr Var predict(Var x) const { return c(relu(b(relu(a(x))))); }
};
using Net = Compiled<Policy, Inputs<f32[32]>>;
using V = cpu::Vec<float>;

/// A linear layer with an optional relu; its outputs are padded to whole vectors.
template <int In, int Out, bool Relu>
class Layer {
 public:
  static constexpr int vectors = (Out + V::width - 1) / V::width, width = vectors * V::width;

  /// Copies weights and bias from `from`, and advances it past them.
  explicit Layer(const float*& from) {
    for (auto& row : weight_) std::copy_n(std::exchange(from, from + Out), Out, row);
    std::copy_n(std::exchange(from, from + Out), Out, bias_);
  }
  /// Computes the outputs of Rows samples, `stride` numbers apart.
  template <int Rows>
  void compute(const float* x, int stride, float* y) const {
    V sum[Rows][vectors];
    GRADUAL_UNROLL(16)
    for (int r = 0; r < Rows; ++r)
      GRADUAL_UNROLL(16)
      for (V& v : sum[r]) v = V::zero();
    for (int k = 0; k < In; ++k) {
      V weight[vectors];
      GRADUAL_UNROLL(16)
      for (int v = 0; v < vectors; ++v) weight[v] = V::load(weight_[k] + v * V::width);
      GRADUAL_UNROLL(16)
      for (int r = 0; r < Rows; ++r)
        GRADUAL_UNROLL(16)
        for (int v = 0; v < vectors; ++v) sum[r][v] = fma(V::broadcast(x[r * stride + k]), weight[v], sum[r][v]);
    }
    GRADUAL_UNROLL(16)
    for (int r = 0; r < Rows; ++r)
      GRADUAL_UNROLL(16)
      for (int v = 0; v < vectors; ++v) (sum[r][v] + V::load(bias_ + v * V::width)).store(y + r * width + v * V::width);
    for (int i = 0; Relu && i < Rows * width; ++i) y[i] = y[i] > 0 ? y[i] : 0;
  }

 private:
  alignas(64) float weight_[In][width]{};
  alignas(64) float bias_[width]{};
};

class ByHand {
 public:
  explicit ByHand(const float* parameters) : a_(parameters), b_(parameters), c_(parameters) {}
  void operator()(int samples, const float* x, float* y) const {
    int i = 0;
    for (; i + 4 <= samples; i += 4) some<4>(x + i * 32, y + i * 8);
    for (; i < samples; ++i) some<1>(x + i * 32, y + i * 8);
  }

 private:
  template <int Rows>
  void some(const float* x, float* y) const {
    alignas(64) float first[Rows * 64], second[Rows * 64], last[Rows * Layer<64, 8, false>::width];
    a_.compute<Rows>(x, 32, first);
    b_.compute<Rows>(first, 64, second);
    c_.compute<Rows>(second, 64, last);
    for (int r = 0; r < Rows; ++r) std::copy_n(last + r * Layer<64, 8, false>::width, 8, y + r * 8);
  }

  Layer<32, 64, true> a_;
  Layer<64, 64, true> b_;
  Layer<64, 8, false> c_;
};

}  // namespace

int main() {
  std::printf("%8s %12s %16s %8s %16s\n", "samples", "gradual ns", "hand-written ns", "ratio", "differing values");
  std::vector<float> parameters = numbers(static_cast<std::size_t>(Net::parameter_elements), 1);
  for (float& p : parameters) p = 0.4f * p - 0.2f;
  Inference<Net> net(parameters, 200);
  const ByHand by_hand(parameters.data());
  int differing = 0;
  for (const int samples : {1, 8, 200}) {
    const auto count = static_cast<std::size_t>(samples);
    const std::vector<float> x = numbers(count * 32, 2);
    std::vector<float> y(count * 8), z(count * 8);
    std::vector<double> ours, theirs;
    const int calls = 4000 / samples;
    for (int round = 0; round < 301; ++round) {
      ours.push_back(seconds([&] {
        for (int i = 0; i < calls; ++i) net(x, y);
      }));
      theirs.push_back(seconds([&] {
        for (int i = 0; i < calls; ++i) by_hand(samples, x.data(), z.data());
      }));
    }
    int differ = 0;
    for (std::size_t i = 0; i < y.size(); ++i) differ += y[i] != z[i];
    differing += differ;
    std::printf("%8d %12.0f %16.0f %8.2f %16d\n", samples, 1e9 * median(ours) / calls, 1e9 * median(theirs) / calls,
                median(ours) / median(theirs), differ);
  }
  return differing == 0 ? 0 : 1;
}
