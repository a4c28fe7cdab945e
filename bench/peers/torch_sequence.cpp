// A whole training step of a GRU (forward, loss of the last state, backward, Adam) against libtorch's own GRU and training
// loop: one thread, the same start and data, medians of interleaved rounds. Gradients of the first step show that both do the
// same.
#include <torch/torch.h>

#include <cstdio>

#include "libtorch_at_its_best.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

constexpr int batch = 32, inputs = 8, width = 24;

struct Sequence {
  nn::Gru gru;
  nn::Linear output;
  constexpr explicit Sequence(Scope s) : gru(s / "gru", inputs, width), output(s / "output", width, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(reshape(output(gru(x).back()), y.shape()), y)}; }
};

struct TorchNet : torch::nn::Module {
  torch::nn::GRU gru{nullptr};
  torch::nn::Linear output{nullptr};
  TorchNet() {
    gru = register_module("gru", torch::nn::GRU(torch::nn::GRUOptions(inputs, width).batch_first(true)));
    output = register_module("output", torch::nn::Linear(width, 1));
  }
  torch::Tensor forward(const torch::Tensor& x) { return output(std::get<0>(gru(x)).select(1, -1)).squeeze(1); }

  /// Parameters in the order of Sequence's.
  std::vector<torch::Tensor> in_order() {
    auto p = named_parameters();
    return {p["gru.weight_ih_l0"], p["gru.bias_ih_l0"], p["gru.weight_hh_l0"],
            p["gru.bias_hh_l0"],   p["output.weight"],  p["output.bias"]};
  }
};

/// What lies there as one of our weights, in libtorch's order.
torch::Tensor as_theirs(const float* ours, const torch::Tensor& theirs) {
  const auto flat = torch::from_blob(const_cast<float*>(ours), {theirs.numel()});
  return theirs.dim() == 2 ? flat.view({theirs.size(1), theirs.size(0)}).t() : flat;
}

template <int Steps>
void compare() {
  using Net = Compiled<Sequence, Inputs<f32[Steps][inputs], f32>>;
  const auto x = numbers(std::size_t{batch} * Steps * inputs, 1), y = numbers(batch, 2);
  const auto fx = torch::from_blob(const_cast<float*>(x.data()), {batch, Steps, inputs});
  const auto fy = torch::from_blob(const_cast<float*>(y.data()), {batch});

  std::vector<double> ours, theirs;
  double error = 0;
  for (std::uint64_t round = 0; round < 7; ++round) {
    Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .seed = round});
    TorchNet net;
    const std::vector<torch::Tensor> parameters = net.in_order();
    for (int p = 0; p < Net::parameter_count; ++p) {
      const torch::NoGradGuard guard;
      torch::Tensor to = parameters[static_cast<std::size_t>(p)];
      to.copy_(as_theirs(session.parameters()[p].values.data(), to));
    }
    torch::optim::Adam adam(net.parameters(), torch::optim::AdamOptions(1e-3));
    const auto step = [&] {
      adam.zero_grad();
      torch::mse_loss(net.forward(fx), fy).backward();
      adam.step();
    };
    session.accumulate(x, y);
    step();
    for (int p = 0; p < Net::parameter_count; ++p) {
      const torch::Tensor gradient = parameters[static_cast<std::size_t>(p)].grad();
      const auto own = as_theirs(session.accumulator().data() + Net::parameter_offset(p), gradient) / batch;
      error = std::max(error, ((own - gradient).abs().max() / gradient.abs().max()).template item<double>());
    }
    for (int s = 0; s < 20; ++s) ours.push_back(seconds([&] { session.accumulate(x, y); }));
    for (int s = 0; s < 20; ++s) theirs.push_back(seconds(step));
  }
  const double a = median(ours), b = median(theirs);
  std::printf("%-34s %6d %6d %12.0f %12.2f %12.0f %8.1f %14.1e\n", "GRU of 24 units, 8 inputs", Steps, batch, 1e6 * a,
              1e6 * a / Steps, 1e6 * b, b / a, error);
}

}  // namespace

int main() {
  run_libtorch_at_its_best();
  std::printf("%-34s %6s %6s %12s %12s %12s %8s %14s\n", "net", "steps", "batch", "gradual us", "us per step", "libtorch us",
              "ratio", "gradients");
  compare<12>();
  compare<48>();
}
