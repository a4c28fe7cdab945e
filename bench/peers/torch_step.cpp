// A whole training step (forward, loss, backward, Adam) against libtorch's own training loop: one thread, the same
// start and data, medians of interleaved rounds, in each of which either takes its steps one after another, as training
// does. The gradients of the first step show that both do the same work.
// Run it again with MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ raised: libtorch's time depends on them.
#include <torch/torch.h>

#include <cstdio>

#include "nets.hpp"

using namespace nets;

namespace {

struct TorchNet : torch::nn::Module {
  std::vector<torch::nn::Linear> layers;
  bool tanh_layers;
  TorchNet(const int* width, int count, bool use_tanh) : tanh_layers(use_tanh) {
    for (int i = 0; i < count; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), torch::nn::Linear(width[i], width[i + 1])));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (std::size_t i = 0; i + 1 < layers.size(); ++i)
      x = tanh_layers ? torch::tanh(layers[i](x)) : torch::relu(layers[i](x));
    return layers.back()(x);
  }
};

template <class Model, class Target>
void compare(const char* name, int batch, int steps) {
  using Net = NetOf<Model, Target>;
  constexpr bool regression = std::is_array_v<Target>;
  const auto x = numbers(static_cast<std::size_t>(batch * Model::width[0]), 1);
  std::vector<std::remove_all_extents_t<Target>> y(static_cast<std::size_t>(batch));
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<std::remove_all_extents_t<Target>>(regression ? x[2 * i] - x[2 * i + 1] : static_cast<float>(i * 7 % 10));

  const auto fx = torch::from_blob(const_cast<float*>(x.data()), {batch, Model::width[0]});
  std::vector<std::int64_t> wide(y.begin(), y.end());
  const auto fy = regression ? torch::from_blob(y.data(), {batch, 1}, torch::kFloat32).clone()
                             : torch::from_blob(wide.data(), {batch}, torch::kInt64).clone();

  std::vector<double> ours, theirs, peaks;
  double error = 0;
  for (int round = 0; round < 7; ++round) {
    Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .seed = static_cast<std::uint64_t>(round)});
    TorchNet net(Model::width, Model::count, regression);
    {
      torch::NoGradGuard guard;
      for (int i = 0; i < Model::count; ++i) {
        const auto weight = session.parameters()[2 * i].values, bias = session.parameters()[2 * i + 1].values;
        net.layers[static_cast<std::size_t>(i)]->weight.copy_(
            torch::from_blob(weight.data(), {Model::width[i], Model::width[i + 1]}).t());
        net.layers[static_cast<std::size_t>(i)]->bias.copy_(torch::from_blob(bias.data(), {Model::width[i + 1]}));
      }
    }
    torch::optim::Adam adam(net.parameters(), torch::optim::AdamOptions(1e-3));
    const auto step = [&] {
      adam.zero_grad();
      const auto out = net.forward(fx);
      const auto loss = regression ? torch::mse_loss(out, fy) : torch::nn::functional::cross_entropy(out, fy);
      loss.backward();
      adam.step();
    };
    session.accumulate(x, y);
    step();
    for (int i = 0; i < Model::count; ++i) {
      const auto gradient = net.layers[static_cast<std::size_t>(i)]->weight.grad().t().contiguous();
      const float* got = session.accumulator().data() + Net::parameter_offset(2 * i);
      const double scale = gradient.abs().max().template item<double>();
      for (std::int64_t k = 0; k < gradient.numel(); ++k)
        error = std::max(error, std::abs(got[k] / static_cast<double>(batch) - static_cast<double>(gradient.template data_ptr<float>()[k])) / scale);
    }
    peaks.push_back(fma_peak());
    for (int s = 0; s < steps; ++s) ours.push_back(seconds([&] { session.accumulate(x, y); }));
    for (int s = 0; s < steps; ++s) theirs.push_back(seconds(step));
  }
  const double a = median(ours), b = median(theirs);
  std::printf("%-26s %6d %12.2f %12.2f %8.1f %12.2f %14.1e\n", name, batch, 1e6 * a, 1e6 * b, b / a,
              step_flops<Model>(batch) / a / median(peaks), error);
}

}  // namespace

int main() {
  torch::set_num_threads(1);
  std::printf("%-26s %6s %12s %12s %8s %12s %14s\n", "net", "batch", "gradual us", "libtorch us", "ratio", "of FMA peak",
              "gradients");
  compare<Tiny, f32[1]>("2-16-16-1 tanh mse", 32, 100);
  compare<Classifier<64, 128, 10>, i32>("64-128-10", 64, 60);
  compare<Classifier<784, 256, 128, 10>, i32>("784-256-128-10", 128, 20);
  compare<Classifier<1024, 1024, 1024, 10>, i32>("1024-1024-1024-10", 256, 4);
}
