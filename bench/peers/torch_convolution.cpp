// A whole training step of a convolutional net (forward, loss, backward, Adam) against libtorch's own training loop: one
// thread, the same start and data, medians of interleaved rounds. Gradients of the first step show that both do the same.
#include <torch/torch.h>

#include <cstdio>

#include "libtorch_at_its_best.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

constexpr int batch = 64;

struct TorchNet : torch::nn::Module {
  torch::nn::Conv2d first{nullptr}, second{nullptr};
  torch::nn::Linear output{nullptr};
  TorchNet() {
    first = register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 3).padding(1)));
    second = register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 16, 3).padding(1)));
    output = register_module("output", torch::nn::Linear(16 * 7 * 7, 10));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(first(x)), 2);
    x = torch::max_pool2d(torch::relu(second(x)), 2);
    return output(x.flatten(1));
  }
};

/// The largest difference of two gradients, relative to the largest element.
double difference(const float* ours, const torch::Tensor& theirs) {
  const auto values = theirs.contiguous();
  double most = 0;
  for (std::int64_t i = 0; i < values.numel(); ++i)
    most = std::max(most, std::abs(ours[i] / double{batch} - double{values.data_ptr<float>()[i]}));
  return most / values.abs().max().item<double>();
}

}  // namespace

int main() {
  run_libtorch_at_its_best();
  using Net = NetOf<Convolutional, i32>;
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
    {
      torch::NoGradGuard guard;
      const auto parameters = net.named_parameters();
      for (int p = 0; p < Net::parameter_count; ++p) {
        std::string name(Net::parameter(p).name.view());
        name[name.find('/')] = '.';
        torch::Tensor to = parameters[name];
        auto from = torch::from_blob(session.parameters()[p].values.data(), {to.numel()});
        to.copy_(name == "output.weight" ? from.view({to.size(1), to.size(0)}).t() : from.view(to.sizes()));
      }
    }
    torch::optim::Adam adam(net.parameters(), torch::optim::AdamOptions(1e-3));
    const auto step = [&] {
      adam.zero_grad();
      torch::nn::functional::cross_entropy(net.forward(fx), fy).backward();
      adam.step();
    };
    session.accumulate(x, y);
    step();
    error = std::max(error, difference(session.accumulator().data() + Net::parameter_offset(0), net.first->weight.grad()));
    error = std::max(error, difference(session.accumulator().data() + Net::parameter_offset(2), net.second->weight.grad()));
    error = std::max(error, difference(session.accumulator().data() + Net::parameter_offset(4), net.output->weight.grad().t()));
    for (int s = 0; s < 40; ++s) ours.push_back(seconds([&] { session.accumulate(x, y); }));
    for (int s = 0; s < 40; ++s) theirs.push_back(seconds(step));
  }
  const double a = median(ours), b = median(theirs);
  std::printf("%-34s %6s %12s %12s %8s %14s\n", "net", "batch", "gradual us", "libtorch us", "ratio", "gradients");
  std::printf("%-34s %6d %12.0f %12.0f %8.1f %14.1e\n", "28x28, 1-8-16 of 3x3, pools, 10", batch, 1e6 * a, 1e6 * b, b / a,
              error);
}
