// Optimizers of another library, libtorch's, wrapped by `Accumulate` as they are: called once per window, they end in the
// same bits however it is cut. They are compared with the rules of the same names.
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <memory>

#include "libtorch_at_its_best.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

/// An optimizer of libtorch as a class with `step(parameters, gradients)`: its tensors share the session's arrays.
class TorchOptimizer {
 public:
  using Make = std::unique_ptr<torch::optim::Optimizer> (*)(std::vector<torch::Tensor>);
  explicit TorchOptimizer(Make make) : make_(make) {}

  void step(std::span<const ParameterView> parameters, std::span<const GradientView> gradients) {
    if (!optimizer_) begin(parameters, gradients);
    optimizer_->step();
  }

 private:
  void begin(std::span<const ParameterView> parameters, std::span<const GradientView> gradients) {
    std::vector<torch::Tensor> tensors;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const auto count = static_cast<std::int64_t>(parameters[p].values.size());
      tensors.push_back(torch::from_blob(parameters[p].values.data(), {count}).requires_grad_());
      tensors.back().mutable_grad() = torch::from_blob(const_cast<float*>(gradients[p].values.data()), {count});
    }
    optimizer_ = make_(std::move(tensors));
  }

  Make make_;
  std::shared_ptr<torch::optim::Optimizer> optimizer_;
};

constexpr std::size_t window = 512;
using Net = NetOf<Classifier<64, 128, 10>, i32>;

template <class Optimizer>
std::vector<float> trained(const Optimizer& optimizer, const std::vector<std::size_t>& split) {
  const auto x = numbers(window * 64, 1);
  const auto y = labels(window);
  Session session(Net{}, Accumulate{optimizer}, {.global_batch = window, .seed = 1});
  for (int step = 0; step < 20; ++step)
    for (std::size_t at = 0; const std::size_t part : split) {
      session.accumulate(std::span(x).subspan(at * 64, part * 64), std::span(y).subspan(at, part));
      at += part;
    }
  const auto parameters = session.parameters();
  return {parameters.values().begin(), parameters.values().end()};
}

/// Returns whether no bit depended on the split.
template <class Rule>
bool row(const char* name, TorchOptimizer::Make make, const Rule& rule) {
  const auto whole = trained(TorchOptimizer(make), {window}), parts = trained(TorchOptimizer(make), {7, 100, 1, 300, 104}),
             ours = trained(rule, {window});
  int differing = 0;
  float farthest = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    differing += whole[i] != parts[i];
    farthest = std::max(farthest, std::abs(whole[i] - ours[i]));
  }
  std::printf("%-22s %21d %26.1e\n", name, differing, static_cast<double>(farthest));
  return differing == 0;
}

}  // namespace

int main() {
  run_libtorch_at_its_best();
  std::printf("64-128-10, 20 windows of 512, at once and as {7,100,1,300,104}\n");
  std::printf("%-22s %21s %26s\n", "libtorch's", "differing parameters", "farthest from our rule");
  const bool sgd = row(
      "SGD, momentum",
      [](std::vector<torch::Tensor> tensors) -> std::unique_ptr<torch::optim::Optimizer> {
        return std::make_unique<torch::optim::SGD>(std::move(tensors), torch::optim::SGDOptions(0.05).momentum(0.9));
      },
      Sgd{.learning_rate = 0.05, .momentum = 0.9});
  const bool rms = row(
      "RMSprop",
      [](std::vector<torch::Tensor> tensors) -> std::unique_ptr<torch::optim::Optimizer> {
        return std::make_unique<torch::optim::RMSprop>(std::move(tensors), torch::optim::RMSpropOptions(1e-3));
      },
      RmsProp{.learning_rate = 1e-3});
  return sgd && rms ? 0 : 1;
}
