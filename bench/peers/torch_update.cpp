// Adam's update alone against libtorch's: one thread, one parameter tensor, medians of interleaved rounds. Then the same after
// steps without a gradient, as for dead units and rarely used rows of tables: moments have decayed.
#include <torch/torch.h>

#include <cstdio>

#include "libtorch_at_its_best.hpp"
#include "lone_update.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

/// `idle`: steps with a gradient of 0 before the measured ones, which then have that gradient, too.
void compare(std::int64_t count, int idle = 0) {
  LoneUpdate<Adam> update(count);
  const Cpu::Queue queue(1);
  torch::Tensor parameter = torch::zeros({count}, torch::requires_grad());
  parameter.mutable_grad() = torch::from_blob(update.gradient().data(), {count}).clone();
  torch::optim::Adam adam({parameter}, torch::optim::AdamOptions(1e-3));
  if (idle > 0) {  // after one step with a gradient
    const auto step = [&] {
      update.run(queue);
      adam.step();
    };
    step();
    std::ranges::fill(update.gradient(), 0.0f);
    parameter.mutable_grad().zero_();
    for (int k = 0; k < idle; ++k) step();
  }
  const int rounds = count > 1'000'000 ? 15 : 101, repeats = count > 10'000 ? 1 : 20;
  std::vector<double> ours, theirs;
  for (int r = 0; r < rounds; ++r) {
    ours.push_back(seconds([&] {
                     for (int k = 0; k < repeats; ++k) update.run(queue);
                   }) /
                   repeats);
    theirs.push_back(seconds([&] {
      for (int k = 0; k < repeats; ++k) adam.step();
    }) / repeats);
  }
  std::printf("%10lld %6d %12.2f %12.2f %10.1f\n", static_cast<long long>(count), idle, 1e6 * median(ours),
              1e6 * median(theirs), median(theirs) / median(ours));
}

}  // namespace

int main() {
  run_libtorch_at_its_best();
  std::printf("parameters   idle      ours us  libtorch us      times\n");
  compare(1'000);
  compare(10'000);
  compare(100'000);
  compare(1'000'000);
  compare(10'000'000);
  compare(10'000, 1500);
  compare(1'000'000, 1500);
}
