// Steps of small transformers beside libtorch's.
#include "../../examples/11-characters/model.hpp"
#include "beside_libtorch.hpp"

using namespace nets;

namespace {

constexpr int batch = 16, tokens = 32, width = 64, heads = 4, hidden_width = 256;

/// Attention and a hidden layer, each added to its input.
struct Block {
  nn::LayerNorm before_attention, before_hidden;
  nn::MultiHeadAttention attention;
  nn::Linear hidden, output;
  constexpr explicit Block(Scope s)
      : before_attention(s / "before_attention", width), before_hidden(s / "before_hidden", width),
        attention(s / "attention", width, heads), hidden(s / "hidden", width, hidden_width),
        output(s / "output", hidden_width, width) {}
  constexpr Var operator()(Var x) const {
    x = x + attention(before_attention(x));
    return x + output(gelu(hidden(before_hidden(x))));
  }
};

/// A classifier of sequences of tokens, with ten classes.
struct Encoder {
  Block first, second;
  nn::LayerNorm last;
  nn::Linear output;
  constexpr explicit Encoder(Scope s)
      : first(s / "first"), second(s / "second"), last(s / "last", width), output(s / "output", width, 10) {}
  constexpr Loss loss(Var x, Var label) const {
    return {cross_entropy(output(mean(last(second(first(x))), {1})), label)};
  }
};

torch::nn::LayerNorm norm(int of) { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({of})); }

/// A block for [tokens, batch, width], as libtorch's attention reads it; `mask` is added to the scores, if there is one.
struct TorchBlock : torch::nn::Module {
  torch::nn::LayerNorm before_attention, before_hidden;
  torch::nn::MultiheadAttention attention;
  torch::nn::Linear hidden, output;
  torch::Tensor mask;
  TorchBlock(int wide, int parts, int hidden_wide, const torch::Tensor& added = {})
      : before_attention(norm(wide)), before_hidden(norm(wide)), attention(wide, parts), hidden(wide, hidden_wide),
        output(hidden_wide, wide), mask(added) {
    register_module("before_attention", before_attention);
    register_module("before_hidden", before_hidden);
    register_module("attention", attention);
    register_module("hidden", hidden);
    register_module("output", output);
  }
  torch::Tensor forward(torch::Tensor x) {
    const torch::Tensor read = before_attention(x);
    x = x + std::get<0>(attention(read, read, read, torch::Tensor{}, false, mask));
    return x + output(torch::gelu(hidden(before_hidden(x))));
  }
};

struct TorchEncoder : torch::nn::Module {
  std::shared_ptr<TorchBlock> first, second;
  torch::nn::LayerNorm last;
  torch::nn::Linear output;
  TorchEncoder() : last(norm(width)), output(width, 10) {
    first = register_module("first", std::make_shared<TorchBlock>(width, heads, hidden_width));
    second = register_module("second", std::make_shared<TorchBlock>(width, heads, hidden_width));
    register_module("last", last);
    register_module("output", output);
  }
  torch::Tensor forward(const torch::Tensor& x) { return output(last(second->forward(first->forward(x))).mean(0)); }
};

struct TorchWriter : torch::nn::Module {
  torch::Tensor table, place;
  std::shared_ptr<TorchBlock> block;
  torch::nn::LayerNorm last;
  TorchWriter() : last(norm(characters::width)) {
    using characters::heads, characters::length, characters::letters, characters::width;
    table = register_parameter("table", torch::zeros({letters, width}));
    place = register_parameter("place", torch::zeros({length, width}));
    const torch::Tensor unseen = torch::full({length, length}, -std::numeric_limits<float>::infinity()).triu(1);
    block = register_module("block", std::make_shared<TorchBlock>(width, heads, 2 * width, unseen));
    register_module("last", last);
  }
  torch::Tensor forward(const torch::Tensor& text) {
    const torch::Tensor x = torch::embedding(table, text) + place.unsqueeze(1);
    return torch::matmul(last(block->forward(x)), table.t());
  }
};

}  // namespace

int main() {
  print_head_beside_libtorch();
  {
    const auto x = numbers(batch * tokens * width, 1);
    const auto y = labels(batch);
    const auto fx = torch::from_blob(const_cast<float*>(x.data()), {batch, tokens, width}).transpose(0, 1).contiguous();
    const auto fy = in_64_bits(y);
    measure_beside_libtorch<Compiled<Encoder, Inputs<f32[tokens][width], i32>>, TorchEncoder>(
        "encoder, 32 x 64, 4 heads, 256, two blocks", batch, x, y,
        [&](TorchEncoder& net) { return torch::nn::functional::cross_entropy(net.forward(fx), fy); });
  }
  {
    constexpr int length = characters::length;
    const auto text = labels(batch * length), next = labels(batch * length);
    const auto in_order = [](const std::vector<std::int32_t>& of) {
      return in_64_bits(of).view({batch, length}).t().contiguous();
    };
    const auto fx = in_order(text), fy = in_order(next).flatten();
    measure_beside_libtorch<characters::Net, TorchWriter>("characters, 32 x 48, 4 heads, 96", batch, text, next,
                                                          [&](TorchWriter& net) {
                                                            return torch::nn::functional::cross_entropy(
                                                                net.forward(fx).flatten(0, 1), fy);
                                                          });
  }
}
