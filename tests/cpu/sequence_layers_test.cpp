// Recurrent layers, attention and norms: splits, eager and compiled give equal bits.
#include <gtest/gtest.h>

#include "../both_ways.hpp"

namespace sequence_layers_test {

using namespace both_ways;

struct Reader {
  nn::Gru gru;
  nn::MultiHeadAttention attention;
  nn::Linear output;
  constexpr explicit Reader(Scope s)
      : gru(s / "gru", 2, 6), attention(s / "attention", 6, 2, nn::Attend::backward), output(s / "output", 6, 3) {}
  constexpr Loss loss(Var x, Var y) const {
    const Var states = stack(gru(x), 1);
    return {mse(output(select(states + attention(states), 1, -1)), y)};
  }
};
using ReaderNet = Compiled<Reader, Inputs<f32[4][2], f32[3]>>;

/// Norms, and activations and dropout as layers, with a recurrent layer.
struct Rows {
  nn::LayerNorm before;
  nn::Lstm lstm;
  nn::RmsNorm after;
  nn::Linear output;
  constexpr explicit Rows(Scope s)
      : before(s / "before", 2), lstm(s / "lstm", 2, 5), after(s / "after", 5), output(s / "output", 5, 3) {}
  constexpr Loss loss(Var x, Var y) const {
    const nn::Sequential layers(after, nn::Gelu{}, nn::Elu{0.7}, nn::Dropout{0.25}, output, nn::LeakyRelu{0.2}, nn::Softplus{});
    return {mse(layers(lstm(before(x)).back()), y)};
  }
};
using RowsNet = Compiled<Rows, Inputs<f32[4][2], f32[3]>>;

const Samples<float> x{numbers(samples * 8), {4, 2}}, y{numbers(samples * 3, 3), {3}};

TEST(Norms, SplitsEagerAndCompiledGiveEqualBits) {
  const std::vector<float> whole = train_compiled<RowsNet>({60}, 1, x, y);
  EXPECT_EQ(whole, train_compiled<RowsNet>({7, 1, 30, 22}, 1, x, y));
  EXPECT_EQ(whole, train_eager<Rows>({60}, x, y));
  EXPECT_EQ(whole, train_eager<Rows>({13, 21}, x, y));
}

TEST(SequenceLayers, SplitsEagerAndCompiledGiveEqualBits) {
  const std::vector<float> whole = train_compiled<ReaderNet>({60}, 1, x, y);
  EXPECT_EQ(whole, train_compiled<ReaderNet>({7, 1, 30, 22}, 1, x, y));
  EXPECT_EQ(whole, train_eager<Reader>({60}, x, y));
  EXPECT_EQ(whole, train_eager<Reader>({13, 21}, x, y));
}

TEST(SharedLayers, SplitsEagerAndCompiledGiveEqualBits) {
  const Samples<float> rows{numbers(samples * 108), {3, 36}}, targets{numbers(samples * 2, 3), {2}};
  const std::vector<float> whole = train_compiled<SharedNet>({60}, 1, rows, targets);
  EXPECT_EQ(whole, train_compiled<SharedNet>({7, 1, 30, 22}, 3, rows, targets));
  EXPECT_EQ(whole, train_eager<Shared>({60}, rows, targets));
  EXPECT_EQ(whole, train_eager<Shared>({13, 21}, rows, targets));
}

/// Returns the gradient of a window in which part p takes steps[p] steps and so uses the weight as often.
std::vector<float> gradient_of(const std::vector<std::int64_t>& parts, const std::vector<int>& steps, std::int64_t begin) {
  const Samples<float> rows{numbers(samples * 36), {36}};
  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root() / "layer", 36, 36);
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = window, .micro_batch = window});
  for (std::size_t p = 0; p < parts.size(); begin += parts[p++])
    session.accumulate(parts[p], [&](EagerTape& tape) {
      Var h = tape.input(rows.part(begin, parts[p]), rows.sample);
      for (int t = 0; t < steps[p]; ++t) h = tanh(layer(h));
      return Loss(sum(h, {-1}));
    });
  session.flush();
  return {session.last_gradient().begin(), session.last_gradient().end()};
}

TEST(SharedLayers, PartsWithOtherNumbersOfUsesHaveSumsOfTheirOwn) {
  const std::vector<float> whole = gradient_of({60}, {3}, 0);
  EXPECT_EQ(whole, gradient_of({13, 1, 46}, {3, 3, 3}, 0));
  const std::vector<float> first = gradient_of({25}, {3}, 0), then = gradient_of({35}, {2}, 25),
                           both = gradient_of({25, 35}, {3, 2}, 0);
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_EQ(both[i], first[i] + then[i]);
  EXPECT_NE(both, whole);
}

}  // namespace sequence_layers_test
