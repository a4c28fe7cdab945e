// Layers of different widths and activations, which `tools/compile-time --source 100` writes one by one.
#include <gradual/gradual.hpp>
using namespace gradual;

struct Mlp {
  std::vector<nn::Linear> layers;
  static constexpr int width(int layer) { return layer == 0 ? 64 : layer == 100 ? 10 : 16 + 8 * (layer % 7) + layer / 7; }
  constexpr explicit Mlp(Scope s) {
    for (int i = 0; i < 100; ++i) layers.emplace_back(s / "layers" / i, width(i), width(i + 1));
  }
  constexpr Loss loss(Var x, Var label) const {
    constexpr Var (*activations[])(Var) = {relu, tanh, sigmoid, gelu, silu};
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) x = activations[i % 5](layers[i](x));
    return {cross_entropy(layers.back()(x), label)};
  }
};
using Net = Compiled<Mlp, Inputs<f32[64], i32>>;

void train(std::span<const float> x, std::span<const std::int32_t> y) {
  Session session(Net{}, Accumulate{Adam{.learning_rate = 1e-3f}}, {.global_batch = 64, .micro_batch = 32});
  session.accumulate(x, y);
}

/// Options in a template, which clang 14 mistook for an initializer.
template <int Rows>
struct OfOptions {
  nn::Embedding table;
  nn::Linear output;
  constexpr explicit OfOptions(Scope s)
      : table(s / "table", Rows, 8, {.padding_idx = 0}), output(s / "output", 8, Rows, {.bias = false}) {}
};
template struct OfOptions<4>;
