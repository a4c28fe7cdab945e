// Digests, recorded once, of what nets have learned: every machine, vector width and compiler must reproduce them.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <gradual/gradual.hpp>

using namespace gradual;

namespace {

/// Every kind of node: images and tokens through convolutions, tables, attention and steps that share weights, floats of
/// 16 bits, dropout and noise; weighted samples, and a penalty.
struct Everything {
  nn::Conv2d first;
  nn::GroupNorm norm;
  nn::Embedding table;
  nn::MultiHeadAttention attention;
  nn::Gru gru;
  nn::Linear narrow, shared, output;
  nn::RmsNorm even;
  constexpr explicit Everything(Scope s)
      : first(s / "first", 2, 12, 3, {.padding = 1}), norm(s / "norm", 3, 12), table(s / "table", 11, 8),
        attention(s / "attention", 8, 2, nn::Attend::backward), gru(s / "gru", 8, 17),
        narrow(s / "narrow", 12 * 4 * 3, 72, {.bias = false}), shared(s / "shared", 36, 36), output(s / "output", 17 + 72, 3),
        even(s / "even", 17 + 72) {}

  constexpr Loss loss(Var image, Var tokens, Var weight, Var label) const {
    const DType real = image.dtype(), inner = real == DType::f32 ? DType::bf16 : real;
    const Var seen = convert(tanh(narrow(convert(flatten(max_pool2d(gelu(norm(first(image))), 2)), inner))), real);
    const Var left = shared(slice(seen, 1, 0, 36)), right = shared(slice(seen, 1, 36, 36));
    const Var rows = gather(scatter_add(table(tokens), tokens, 11), tokens);  // the sum over equal tokens
    const Var read = gru(attention(rows)).back();
    const Var features = even(dropout(concat({left, right, read + 0.1 * normal_like(read)}, 1), 0.25));
    const Var w = output.weight().on(features);
    return Loss{cross_entropy(output(features), label)}.weighted_by(weight).plus(1e-3 * sum(w * w, {0, 1}));
  }
};

/// Adam with the gradients of larger matrices orthogonalized, as Muon does for all matrices: products inside updates.
struct Orthogonal {
  Adam adam;
  using State = Adam::State;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto made = [](Var part) {
      return part.shape().rank == 2 && part.shape().extent[0] > 16 ? orthogonalized(part) : part;
    };
    return adam(parameter, by_parameter(made, gradient), state, step);
  }
};

template <class Program>
constexpr bool has_every_kind() {
  bool seen[static_cast<int>(Kind::batch_scatter) + 1]{};
  for (const Node& node : Program::graph.nodes) seen[static_cast<int>(node.op->kind)] = true;
  return std::ranges::all_of(seen, std::identity{});
}

/// Trains for three windows of 300 samples, two closed blocks of 128 and an open one, and digests parameters and state.
template <class Real, class Rule>
bool learns(const char* what, const Rule& rule, std::uint64_t known) {
  using Net = Compiled<Everything, Inputs<Real[2][8][6], i32[4], Real, i32>>;
  static_assert(has_every_kind<typename Net::Training>());
  constexpr std::size_t samples = 300;
  std::uint32_t drawn = 1;
  const auto draw = [&] { return (drawn = drawn * 1664525u + 1013904223u) >> 8; };
  std::vector<Real> images(samples * 96), weights(samples);
  std::vector<std::int32_t> tokens(samples * 4), labels(samples);
  for (Real& x : images) x = static_cast<Real>(draw()) * Real(0x1p-23) - 1;
  for (Real& x : weights) x = static_cast<Real>(draw() % 4) / 4;
  for (std::int32_t& x : tokens) x = static_cast<std::int32_t>(draw() % 11);
  for (std::int32_t& x : labels) x = static_cast<std::int32_t>(draw() % 3);

  Session session(Net{}, Accumulate{rule}, {.global_batch = samples, .micro_batch = 77, .seed = 3});
  const Dataset data(images, tokens, weights, labels);
  for (int window = 0; window < 3; ++window)
    for (auto [image, token, weight, label] : data.batches(77)) session.accumulate(image, token, weight, label);

  std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a (Fowler, Noll, Vo)
  for (const auto bytes : {session.parameter_bytes(), session.optimizer_state_bytes()})
    for (const std::byte byte : bytes) digest = (digest ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
  std::printf("%-24s %016llx%s\n", what, static_cast<unsigned long long>(digest),
              digest == known ? "" : ": not what is known");
  return digest == known;
}

}  // namespace

int main() {
  const bool floats = learns<float>("floats, orthogonal Adam", Orthogonal{}, 0x83a87ab56bdee2cc);
  const bool doubles = learns<double>("doubles, clipped Adam", ClipByGlobalNorm{Adam{}, 0.5}, 0x55db4b1ab02625aa);
  return floats && doubles ? 0 : 1;
}
