// Steps of convolutional nets beside libtorch's.
#include "beside_libtorch.hpp"

using namespace nets;

namespace {

constexpr int batch = 64;

torch::nn::Conv2d convolution(int in, int out, int kernel, int padding, int groups = 1) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).padding(padding).groups(groups));
}

struct TorchConvolutional : torch::nn::Module {
  torch::nn::Conv2d first, second;
  torch::nn::Linear output;
  TorchConvolutional() : first(convolution(1, 8, 3, 1)), second(convolution(8, 16, 3, 1)), output(16 * 7 * 7, 10) {
    register_module("first", first);
    register_module("second", second);
    register_module("output", output);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(first(x)), 2);
    x = torch::max_pool2d(torch::relu(second(x)), 2);
    return output(x.flatten(1));
  }
};

/// A depthwise convolution followed by one of 1 × 1, instead of one over all channels.
struct Separable {
  nn::Conv2d first, each, mixed;
  nn::Linear output;
  constexpr explicit Separable(Scope s)
      : first(s / "first", 1, 16, 3, {.padding = 1}), each(s / "each", 16, 16, 3, {.padding = 1, .groups = 16}),
        mixed(s / "mixed", 16, 32, 1), output(s / "output", 32 * 7 * 7, 10) {}
  constexpr Loss loss(Var x, Var label) const {
    x = max_pool2d(relu(first(x)), 2);
    x = max_pool2d(relu(mixed(relu(each(x)))), 2);
    return {cross_entropy(output(flatten(x)), label)};
  }
};
struct TorchSeparable : torch::nn::Module {
  torch::nn::Conv2d first, each, mixed;
  torch::nn::Linear output;
  TorchSeparable()
      : first(convolution(1, 16, 3, 1)), each(convolution(16, 16, 3, 1, 16)), mixed(convolution(16, 32, 1, 0)),
        output(32 * 7 * 7, 10) {
    register_module("first", first);
    register_module("each", each);
    register_module("mixed", mixed);
    register_module("output", output);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(first(x)), 2);
    x = torch::max_pool2d(torch::relu(mixed(torch::relu(each(x)))), 2);
    return output(x.flatten(1));
  }
};

/// A net that halves rows and columns and doubles them again, with a group norm in between.
struct Enlarging {
  nn::Conv2d smaller;
  nn::GroupNorm norm;
  nn::ConvTranspose2d larger;
  nn::Linear output;
  constexpr explicit Enlarging(Scope s)
      : smaller(s / "smaller", 1, 16, 3, {.stride = 2, .padding = 1}), norm(s / "norm", 4, 16),
        larger(s / "larger", 16, 8, 4, {.stride = 2, .padding = 1}), output(s / "output", 8 * 28 * 28, 10) {}
  constexpr Loss loss(Var x, Var label) const {
    return {cross_entropy(output(flatten(relu(larger(relu(norm(smaller(x))))))), label)};
  }
};
struct TorchEnlarging : torch::nn::Module {
  torch::nn::Conv2d smaller;
  torch::nn::GroupNorm norm;
  torch::nn::ConvTranspose2d larger;
  torch::nn::Linear output;
  TorchEnlarging()
      : smaller(torch::nn::Conv2dOptions(1, 16, 3).stride(2).padding(1)), norm(torch::nn::GroupNormOptions(4, 16)),
        larger(torch::nn::ConvTranspose2dOptions(16, 8, 4).stride(2).padding(1)), output(8 * 28 * 28, 10) {
    register_module("smaller", smaller);
    register_module("norm", norm);
    register_module("larger", larger);
    register_module("output", output);
  }
  torch::Tensor forward(torch::Tensor x) { return output(torch::relu(larger(torch::relu(norm(smaller(x))))).flatten(1)); }
};

template <class Model, class TorchNet>
void measure(const char* name) {
  const auto x = numbers(batch * 28 * 28, 1);
  const auto y = labels(batch);
  const auto fx = torch::from_blob(const_cast<float*>(x.data()), {batch, 1, 28, 28});
  const auto fy = in_64_bits(y);
  measure_beside_libtorch<Compiled<Model, Inputs<f32[1][28][28], i32>>, TorchNet>(
      name, batch, x, y, [&](TorchNet& net) { return torch::nn::functional::cross_entropy(net.forward(fx), fy); });
}

}  // namespace

int main() {
  print_head_beside_libtorch();
  measure<Convolutional, TorchConvolutional>("28x28, 1-8-16 of 3x3, pools, 10");
  measure<Separable, TorchSeparable>("28x28, 1-16 of 3x3, 16 x 1 of 3x3, 32, 10");
  measure<Enlarging, TorchEnlarging>("28x28, 16 of 14x14, norm, 8 of 28x28, 10");
}
