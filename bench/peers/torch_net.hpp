#pragma once
// The nets of the benchmarks as modules of libtorch, with its own training step.
#include <torch/torch.h>

#include "../nets.hpp"

namespace nets {

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

template <class Real>
constexpr auto torch_type = std::is_same_v<Real, float> ? torch::kFloat32 : torch::kFloat64;

/// A batch of one of the nets for both libraries; targets are labels, or the difference of two inputs.
template <class Model, class Target, class Real = float>
struct Samples {
  using Element = std::remove_all_extents_t<Target>;
  static constexpr bool regression = std::is_array_v<Target>;
  static constexpr auto type = torch_type<Real>;
  std::vector<Real> x;
  std::vector<Element> y;
  torch::Tensor torch_x, torch_y;

  explicit Samples(int batch)
      : y(static_cast<std::size_t>(batch)) {
    const std::vector<float> drawn = numbers(static_cast<std::size_t>(batch * Model::width[0]), 1);
    x.assign(drawn.begin(), drawn.end());
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = static_cast<Element>(regression ? x[2 * i] - x[2 * i + 1] : static_cast<Real>(i * 7 % 10));
    torch_x = torch::from_blob(x.data(), {batch, Model::width[0]}, type);
    std::vector<std::int64_t> wide(y.begin(), y.end());
    torch_y = regression ? torch::from_blob(y.data(), {batch, 1}, torch_type<Element>).to(type, false, true)
                         : torch::from_blob(wide.data(), {batch}, torch::kInt64).clone();
  }
};

/// Training by libtorch with Adam, starting from `parameters`: weight and bias of each layer in turn.
template <class Model, class Target, class Real = float>
class TorchTraining {
  using Batch = Samples<Model, Target, Real>;

 public:
  template <class Views>
  TorchTraining(const Batch& samples, const Views& parameters)
      : samples_(samples), net_(Model::width, Model::count, Batch::regression),
        adam_(net_.parameters(), torch::optim::AdamOptions(1e-3)) {
    torch::NoGradGuard guard;
    net_.to(Batch::type);
    for (int i = 0; i < Model::count; ++i) {
      const auto weight = parameters[2 * i].values, bias = parameters[2 * i + 1].values;
      constexpr auto type = torch_type<std::remove_cvref_t<decltype(weight[0])>>;
      net_.layers[static_cast<std::size_t>(i)]->weight.copy_(
          torch::from_blob(weight.data(), {Model::width[i], Model::width[i + 1]}, type).t());
      net_.layers[static_cast<std::size_t>(i)]->bias.copy_(torch::from_blob(bias.data(), {Model::width[i + 1]}, type));
    }
  }
  void step() {
    adam_.zero_grad();
    const auto out = net_.forward(samples_.torch_x);
    const auto loss = Batch::regression ? torch::mse_loss(out, samples_.torch_y)
                                                         : torch::nn::functional::cross_entropy(out, samples_.torch_y);
    loss.backward();
    adam_.step();
  }
  /// Returns the largest difference of a weight's gradient from `sums[i]`, those of layer i, divided by the batch, relative
  /// to the layer's largest. Meant for training in double: in float, sums of one side may lie beyond a relu's kink.
  template <class Sum>
  double error(const std::vector<const Sum*>& sums) {
    double error = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const auto gradient = net_.layers[i]->weight.grad().t().contiguous();
      const double scale = gradient.abs().max().template item<double>(), batch = static_cast<double>(samples_.y.size());
      for (std::int64_t k = 0; k < gradient.numel(); ++k)
        error =
            std::max(error, std::abs(sums[i][k] / batch - static_cast<double>(gradient.template data_ptr<Real>()[k])) / scale);
    }
    return error;
  }

 private:
  const Batch& samples_;
  TorchNet net_;
  torch::optim::Adam adam_;
};

}  // namespace nets
