#pragma once
// The nets of the benchmarks, and the processor's peak.
#include <algorithm>
#include <chrono>
#include <type_traits>
#include <vector>

#include <gradual/core/cpu/simd.hpp>
#include <gradual/gradual.hpp>

namespace nets {

using namespace gradual;

/// Linear layers of the given widths, relu between them, cross entropy at the end.
template <int... Width>
struct Classifier {
  static constexpr int count = sizeof...(Width) - 1;
  static constexpr int width[count + 1] = {Width...};
  static constexpr std::string_view names[] = {"layer0", "layer1", "layer2", "layer3", "layer4"};
  nn::Linear layers[static_cast<std::size_t>(count)];

  constexpr explicit Classifier(Scope s) : Classifier(s, std::make_index_sequence<static_cast<std::size_t>(count)>{}) {}
  constexpr Loss loss(Var x, Var label) const {
    for (int i = 0; i < count - 1; ++i) x = relu(layers[i](x));
    return {cross_entropy(layers[count - 1](x), label)};
  }

 private:
  template <std::size_t... I>
  constexpr Classifier(Scope s, std::index_sequence<I...>) : layers{nn::Linear(s / names[I], width[I], width[I + 1])...} {}
};

/// 2-16-16-1 with tanh and squared errors.
struct Tiny {
  static constexpr int count = 3;
  static constexpr int width[] = {2, 16, 16, 1};
  nn::Linear a, b, c;
  constexpr explicit Tiny(Scope s) : a(s / "layer0", 2, 16), b(s / "layer1", 16, 16), c(s / "layer2", 16, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(c(tanh(b(tanh(a(x))))), y)}; }
};

/// Images of 28 × 28: two convolutions of 3 × 3, each followed by a pool, and a linear layer.
struct Convolutional {
  nn::Conv2d first, second;
  nn::Linear output;
  constexpr explicit Convolutional(Scope s)
      : first(s / "first", 1, 8, 3, {.padding = 1}), second(s / "second", 8, 16, 3, {.padding = 1}),
        output(s / "output", 16 * 7 * 7, 10) {}
  constexpr Loss loss(Var x, Var label) const {
    x = max_pool2d(relu(first(x)), 2);
    x = max_pool2d(relu(second(x)), 2);
    return {cross_entropy(output(flatten(x)), label)};
  }
};

/// The type of a sample that a net reads.
template <class Model, class Real = float>
struct SampleOf : std::type_identity<Real[static_cast<std::size_t>(Model::width[0])]> {};
template <class Real>
struct SampleOf<Convolutional, Real> : std::type_identity<Real[1][28][28]> {};

template <class Model, class Target, class Real = float>
using NetOf = Compiled<Model, Inputs<typename SampleOf<Model, Real>::type, Target>>;

inline std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::vector<float> result(count);
  for (float& x : result) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) * 0x1p-24f;
  }
  return result;
}

/// Returns labels of ten classes.
inline std::vector<std::int32_t> labels(std::size_t count) {
  std::vector<std::int32_t> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<std::int32_t>(i * 7 % 10);
  return result;
}

/// Returns the least bytes that a training step must move: inputs are read twice, other activations and their adjoints are
/// written once and read twice.
template <class Model>
double step_bytes(int batch) {
  double bytes = 8.0 * batch * Model::width[0];
  for (int i = 1; i <= Model::count; ++i) bytes += 24.0 * batch * Model::width[i];
  return bytes;
}
template <>
inline double step_bytes<Convolutional>(int batch) {
  return batch * (8.0 * 784 + 24.0 * (8 * 784 + 8 * 196 + 16 * 196 + 16 * 49 + 10));
}

/// Returns the floating-point operations of one training step; the first layer needs no input gradient.
template <class Model>
double step_flops(int batch) {
  double flops = 0;
  for (int i = 0; i < Model::count; ++i) flops += (i == 0 ? 4.0 : 6.0) * batch * Model::width[i] * Model::width[i + 1];
  return flops;
}
template <>
inline double step_flops<Convolutional>(int batch) {
  return batch * 2.0 * (2 * 9 * 1 * 8 * 784 + 3 * (9 * 8 * 16 * 196 + 16 * 49 * 10));
}

using Clock = std::chrono::steady_clock;
template <class F>
double seconds(F&& f) {
  const auto begin = Clock::now();
  f();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// Measures the operations per second of independent fused multiply-adds.
template <class Real = float>
double fma_peak() {
  using V = cpu::Vec<Real>;
  constexpr int chains = 12, steps = 2'000'000;
  V chain[chains];
  for (V& c : chain) c = V::broadcast(1);
  const V b = V::broadcast(Real(0.999)), a = V::broadcast(Real(1e-3));
  const double time = seconds([&] {
    for (int i = 0; i < steps; ++i)
      GRADUAL_UNROLL(12)
      for (int k = 0; k < chains; ++k) chain[k] = fma(chain[k], b, a);
  });
  V sum = V::zero();
  for (const V& c : chain) sum = sum + c;
  Real out[V::width];
  sum.store(out);
  volatile Real sink = out[0];
  static_cast<void>(sink);
  return 2.0 * chains * V::width * steps / time;
}

}  // namespace nets
