#pragma once
// Whole training steps (forward, loss, backward, Adam) of a net and of libtorch's own training loop: one thread, the same start
// and data, medians of interleaved rounds. The gradients of the first step show that both do the same work.
#include <torch/torch.h>

#include <cstdio>

#include "libtorch_at_its_best.hpp"
#include "nets.hpp"

namespace nets {

/// Returns indices in the 64 bits that libtorch expects.
inline torch::Tensor in_64_bits(const std::vector<std::int32_t>& indices) {
  const std::vector<std::int64_t> wide(indices.begin(), indices.end());
  return torch::tensor(wide, torch::kInt64);
}

/// Returns the values of our parameter in the layout of libtorch's, which keeps the weights of layers transposed. A square
/// matrix is taken for a layer's.
inline torch::Tensor as_theirs(const float* ours, const Shape& shape, const torch::Tensor& theirs) {
  const auto flat = torch::from_blob(const_cast<float*>(ours), {theirs.numel()});
  if (theirs.dim() == 2 && (theirs.size(0) != shape.extent[0] || theirs.size(1) == shape.extent[0]))
    return flat.view({theirs.size(1), theirs.size(0)}).t();
  return flat.view(theirs.sizes());
}

/// Returns the parameters of libtorch's net in our order: `in_order()` if they are registered in another.
template <class TorchNet>
std::vector<torch::Tensor> in_our_order(TorchNet& net) {
  if constexpr (requires { net.in_order(); }) return net.in_order();
  else return net.parameters();
}

inline void print_head_beside_libtorch() {
  run_libtorch_at_its_best();
  std::printf("%-42s %6s %12s %12s %8s %14s\n", "net", "batch", "gradual us", "libtorch us", "ratio", "gradients");
}

/// Prints how long steps of both take, and the largest difference of a gradient, relative to its parameter's largest.
/// `loss(net)`: libtorch's mean loss of the same batch.
template <class Net, class TorchNet, class X, class Y, class Loss>
void measure_beside_libtorch(const char* name, int batch, const std::vector<X>& x, const std::vector<Y>& y, Loss loss) {
  std::vector<double> ours, theirs;
  double error = 0;
  for (std::uint64_t round = 0; round < 7; ++round) {
    Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .seed = round});
    TorchNet net;
    const std::vector<torch::Tensor> parameters = in_our_order(net);
    const auto as_theirs_of = [&](int p, const float* values) {
      return as_theirs(values, Net::parameter(p).shape, parameters[static_cast<std::size_t>(p)]);
    };
    for (int p = 0; p < Net::parameter_count; ++p) {
      const torch::NoGradGuard guard;
      torch::Tensor to = parameters[static_cast<std::size_t>(p)];
      to.copy_(as_theirs_of(p, session.parameters()[p].values.data()));
    }
    torch::optim::Adam adam(net.parameters(), torch::optim::AdamOptions(1e-3));
    const auto step = [&] {
      adam.zero_grad();
      loss(net).backward();
      adam.step();
    };
    session.accumulate(x, y);
    step();
    for (int p = 0; p < Net::parameter_count; ++p) {
      const torch::Tensor gradient = parameters[static_cast<std::size_t>(p)].grad();
      const torch::Tensor own = as_theirs_of(p, session.accumulator().data() + Net::parameter_offset(p)) / batch;
      error = std::max(error, ((own - gradient).abs().max() / gradient.abs().max()).template item<double>());
    }
    for (int s = 0; s < 40; ++s) ours.push_back(seconds([&] { session.accumulate(x, y); }));
    for (int s = 0; s < 40; ++s) theirs.push_back(seconds(step));
  }
  const double a = median(ours), b = median(theirs);
  std::printf("%-42s %6d %12.0f %12.0f %8.1f %14.1e\n", name, batch, 1e6 * a, 1e6 * b, b / a, error);
}

}  // namespace nets
