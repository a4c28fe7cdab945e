// Adam's update alone against libtorch's: one thread, one parameter tensor, medians of interleaved rounds.
#include <torch/torch.h>

#include <cstdio>

#include "lone_update.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

template <std::int64_t Count>
void compare() {
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
  const int rounds = Count > 1'000'000 ? 15 : 101, repeats = Count > 10'000 ? 1 : 20;
  std::vector<double> ours, theirs;
  for (int r = 0; r < rounds; ++r) {
    ours.push_back(seconds([&] {
                     for (int k = 0; k < repeats; ++k)
                       cpu::Executor<typename Update::Program>::template run<Phase::boundary>(update.arguments());
                   }) /
                   repeats);
    theirs.push_back(seconds([&] {
      for (int k = 0; k < repeats; ++k) adam.step();
    }) / repeats);
  }
  std::printf("%10lld %12.2f %12.2f %10.1f\n", static_cast<long long>(Count), 1e6 * median(ours), 1e6 * median(theirs),
              median(theirs) / median(ours));
}

}  // namespace

int main() {
  torch::set_num_threads(1);
  std::printf("parameters      ours us   libtorch us   times\n");
  compare<1'000>();
  compare<10'000>();
  compare<100'000>();
  compare<1'000'000>();
  compare<10'000'000>();
}
