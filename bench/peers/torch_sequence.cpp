// Steps of recurrent nets with a loss of the last state, beside libtorch's.
#include <string>

#include "beside_libtorch.hpp"

using namespace nets;

namespace {

constexpr int batch = 32, inputs = 8, width = 24;

template <class Cell>
struct Sequence {
  Cell cell;
  nn::Linear output;
  constexpr explicit Sequence(Scope s) : cell(s / "cell", inputs, width), output(s / "output", width, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(reshape(output(cell(x).back()), y.shape()), y)}; }
};

template <class Cell, class Options>
struct TorchSequence : torch::nn::Module {
  Cell cell;
  torch::nn::Linear output;
  TorchSequence() : cell(Options(inputs, width).batch_first(true)), output(width, 1) {
    register_module("cell", cell);
    register_module("output", output);
  }
  torch::Tensor forward(const torch::Tensor& x) { return output(std::get<0>(cell(x)).select(1, -1)).squeeze(1); }
  std::vector<torch::Tensor> in_order() {
    const auto p = named_parameters();
    return {p["cell.weight_ih_l0"], p["cell.bias_ih_l0"], p["cell.weight_hh_l0"],
            p["cell.bias_hh_l0"],   p["output.weight"],   p["output.bias"]};
  }
};

template <int Steps, class Cell, class TorchNet>
void measure(const std::string& name) {
  const auto x = numbers(std::size_t{batch} * Steps * inputs, 1), y = numbers(batch, 2);
  const auto fx = torch::from_blob(const_cast<float*>(x.data()), {batch, Steps, inputs});
  const auto fy = torch::from_blob(const_cast<float*>(y.data()), {batch});
  measure_beside_libtorch<Compiled<Sequence<Cell>, Inputs<f32[Steps][inputs], f32>>, TorchNet>(
      (name + " of 24 units, 8 inputs, " + std::to_string(Steps) + " steps").c_str(), batch, x, y,
      [&](TorchNet& net) { return torch::mse_loss(net.forward(fx), fy); });
}

}  // namespace

int main() {
  using TorchGru = TorchSequence<torch::nn::GRU, torch::nn::GRUOptions>;
  using TorchLstm = TorchSequence<torch::nn::LSTM, torch::nn::LSTMOptions>;
  print_head_beside_libtorch();
  measure<12, nn::Gru, TorchGru>("GRU");
  measure<48, nn::Gru, TorchGru>("GRU");
  measure<12, nn::Lstm, TorchLstm>("LSTM");
  measure<48, nn::Lstm, TorchLstm>("LSTM");
}
