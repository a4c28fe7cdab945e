// A whole training step of convolutional nets (forward, loss, backward, Adam) against libtorch's own training loop: one
// thread, the same start and data, medians of interleaved rounds. Gradients of the first step show that both do the same.
#include <torch/torch.h>

#include <cstdio>

#include "libtorch_at_its_best.hpp"
#include "nets.hpp"

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

/// A convolution of each channel alone and one of 1 × 1 behind it, instead of one of all channels.
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

/// To half the rows and columns and back, with a norm of groups of channels between.
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

/// The largest difference of two gradients, relative to the largest element.
double difference(const float* ours, const torch::Tensor& theirs) {
  const auto values = theirs.contiguous();
  double most = 0;
  for (std::int64_t i = 0; i < values.numel(); ++i)
    most = std::max(most, std::abs(ours[i] / double{batch} - double{values.data_ptr<float>()[i]}));
  return most / values.abs().max().item<double>();
}

template <class Model, class TorchNet>
void measure(const char* name) {
  using Net = Compiled<Model, Inputs<f32[1][28][28], i32>>;
  const auto x = numbers(batch * 28 * 28, 1);
  std::vector<std::int32_t> y(batch);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int32_t>(i * 7 % 10);
  const auto fx = torch::from_blob(const_cast<float*>(x.data()), {batch, 1, 28, 28});
  const std::vector<std::int64_t> wide(y.begin(), y.end());
  const auto fy = torch::from_blob(const_cast<std::int64_t*>(wide.data()), {batch}, torch::kInt64).clone();

  std::vector<double> ours, theirs;
  double error = 0;
  for (std::uint64_t round = 0; round < 7; ++round) {
    Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .seed = round});
    TorchNet net;
    const auto parameters = net.named_parameters();
    const auto named = [&](int p) {
      std::string path(Net::parameter(p).name.view());
      path[path.find('/')] = '.';
      if (path == "norm.scale") path = "norm.weight";
      if (path == "norm.shift") path = "norm.bias";
      return parameters[path];
    };
    const auto in_our_order = [](const torch::Tensor& weight) { return weight.dim() == 2 ? weight.t() : weight; };
    for (int p = 0; p < Net::parameter_count; ++p) {
      torch::NoGradGuard guard;
      const torch::Tensor to = in_our_order(named(p));
      to.copy_(torch::from_blob(session.parameters()[p].values.data(), {to.numel()}).view(to.sizes()));
    }
    torch::optim::Adam adam(net.parameters(), torch::optim::AdamOptions(1e-3));
    const auto step = [&] {
      adam.zero_grad();
      torch::nn::functional::cross_entropy(net.forward(fx), fy).backward();
      adam.step();
    };
    session.accumulate(x, y);
    step();
    for (int p = 0; p < Net::parameter_count; ++p) {
      const float* const gradient = session.accumulator().data() + Net::parameter_offset(p);
      error = std::max(error, difference(gradient, in_our_order(named(p).grad())));
    }
    for (int s = 0; s < 40; ++s) ours.push_back(seconds([&] { session.accumulate(x, y); }));
    for (int s = 0; s < 40; ++s) theirs.push_back(seconds(step));
  }
  const double a = median(ours), b = median(theirs);
  std::printf("%-42s %6d %12.0f %12.0f %8.1f %14.1e\n", name, batch, 1e6 * a, 1e6 * b, b / a, error);
}

}  // namespace

int main() {
  run_libtorch_at_its_best();
  std::printf("%-42s %6s %12s %12s %8s %14s\n", "net", "batch", "gradual us", "libtorch us", "ratio", "gradients");
  measure<Convolutional, TorchConvolutional>("28x28, 1-8-16 of 3x3, pools, 10");
  measure<Separable, TorchSeparable>("28x28, 1-16 of 3x3, 16 x 1 of 3x3, 32, 10");
  measure<Enlarging, TorchEnlarging>("28x28, 16 of 14x14, norm, 8 of 28x28, 10");
}
