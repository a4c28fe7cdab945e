#pragma once
#include <gradual/gradual.hpp>

namespace characters {

using namespace gradual;

inline constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz \n,'.!";
inline constexpr int letters = static_cast<int>(alphabet.size()), length = 32, width = 48, heads = 4;

/// A transformer block: attention and a hidden layer, each added to its input (Vaswani et al. 2017).
struct Block {
  nn::LayerNorm before_attention, before_hidden;
  nn::MultiHeadAttention attention;
  nn::Linear hidden, output;
  constexpr explicit Block(Scope s)
      : before_attention(s / "before_attention", width), before_hidden(s / "before_hidden", width),
        attention(s / "attention", width, heads, nn::Attend::backward), hidden(s / "hidden", width, 2 * width),
        output(s / "output", 2 * width, width) {}
  constexpr Var operator()(Var x) const {
    x = x + attention(before_attention(x));
    return x + output(gelu(hidden(before_hidden(x))));
  }
};

/// A model that scores each next character. Its embedding table is also the weight of the output layer.
struct Writer {
  nn::Embedding table;
  Parameter place;
  Block block;
  nn::LayerNorm last;
  constexpr explicit Writer(Scope s)
      : table(s / "table", letters, width, init::normal(0.1)),
        place(s.parameter("place", Shape{length, width}, init::normal(0.1))), block(s / "block"),
        last(s / "last", width) {}
  constexpr Var predict(Var text) const {
    const Var x = table(text);
    return table.scores(last(block(x + place)));
  }
  constexpr Loss loss(Var text, Var next) const {  // cross_entropy gives a value for each position
    const Var scores = predict(text);
    return {mean(cross_entropy(scores, next), {1}), metric("right", mean(argmax(scores) == next, {1}))};
  }
};

using Net = Compiled<Writer, Inputs<i32[length], i32[length]>>;

}  // namespace characters
