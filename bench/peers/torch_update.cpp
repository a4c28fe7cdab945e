// Adam's update alone against libtorch's: one thread, one parameter tensor, medians of interleaved rounds. Then the same after
// steps without a gradient, as units that are dead and rows of tables that are rare have: moments have decayed.
#include <torch/torch.h>

#include <cstdio>
#include <cstring>

#include "libtorch_at_its_best.hpp"
#include "lone_update.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

/// `idle`: steps with a gradient of 0 before it is measured, with that.
template <std::int64_t Count>
void compare(int idle = 0) {
  using Update = LoneUpdate<Adam, Count>;
  const HeapBlock memory(Update::bytes);
  const Update update(memory.data());
  const auto scalars = Update::scalar_values(Adam{});
  std::memcpy(update.scalars(), scalars.data(), scalars.size() * 4);
  float* const gradient = reinterpret_cast<float*>(memory.data() + Update::arena);
  for (std::int64_t i = 0; i < Count; ++i) gradient[i] = 0.5f + static_cast<float>(i % 7);

  torch::Tensor parameter = torch::zeros({Count}, torch::requires_grad());
  parameter.mutable_grad() = torch::from_blob(gradient, {Count}).clone();
  torch::optim::Adam adam({parameter}, torch::optim::AdamOptions(1e-3));
  if (idle > 0) {  // after one step with a gradient
    const auto step = [&] {
      Cpu::kernels_of<typename Update::Program>.run(Phase::boundary, update.arguments());
      adam.step();
    };
    step();
    std::memset(gradient, 0, Count * 4);
    parameter.mutable_grad().zero_();
    for (int k = 0; k < idle; ++k) step();
  }
  const int rounds = Count > 1'000'000 ? 15 : 101, repeats = Count > 10'000 ? 1 : 20;
  std::vector<double> ours, theirs;
  for (int r = 0; r < rounds; ++r) {
    ours.push_back(seconds([&] {
                     for (int k = 0; k < repeats; ++k)
                       Cpu::kernels_of<typename Update::Program>.run(Phase::boundary, update.arguments());
                   }) /
                   repeats);
    theirs.push_back(seconds([&] {
      for (int k = 0; k < repeats; ++k) adam.step();
    }) / repeats);
  }
  std::printf("%10lld %6d %12.2f %12.2f %10.1f\n", static_cast<long long>(Count), idle, 1e6 * median(ours),
              1e6 * median(theirs), median(theirs) / median(ours));
}

}  // namespace

int main() {
  run_libtorch_at_its_best();
  std::printf("parameters   idle      ours us  libtorch us      times\n");
  compare<1'000>();
  compare<10'000>();
  compare<100'000>();
  compare<1'000'000>();
  compare<10'000'000>();
  compare<10'000>(1500);
  compare<1'000'000>(1500);
}
