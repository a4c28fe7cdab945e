// The digits on a GPU: the same model, with Cuda as the third argument of Compiled. Parameters and optimizer state end with
// the same bits as on the processor, even if the GPU's micro-batches are of another size.
#include <cstdio>

#include <gradual/cuda.hpp>

#include "../01-digits/data.hpp"
#include "../01-digits/model.hpp"

namespace {

using namespace digits;
using OnGpu = Compiled<Mlp, Inputs<f32[64], i32>, Cuda>;

constexpr int epochs = 20;

template <class Net>
Trainer<Net, decltype(Accumulate{Adam{}})> train(const char* name, std::int64_t micro_batch, const Data& data) {
  Trainer<Net, decltype(Accumulate{Adam{}})> trainer(Net{}, optimizer,
                                                     {.global_batch = 512, .micro_batch = micro_batch, .seed = 1});
  const auto [training, test] =
      Dataset(std::span<const float>(data.images), std::span<const std::int32_t>(data.labels)).split(0.8);
  const Stopwatch watch;
  const History history = trainer.fit(training, {.epochs = epochs, .validate = test});
  const double ms = 1e3 * watch.seconds();
  std::printf("%-10s %12lld %12.0f ms %15.4f\n", name, static_cast<long long>(micro_batch), ms,
              history.back().validation.metric(0));
  return trainer;
}

template <class A, class B>
long long differing_bits(const A& a, const B& b) {
  long long bits = 0;
  for (std::size_t i = 0; i < a.size(); ++i) bits += __builtin_popcount(static_cast<unsigned>(a[i] ^ b[i]));
  return bits;
}

}  // namespace

int main() {
  if (!cuda::device_found()) {
    std::puts("skipped: no CUDA device");
    return 0;
  }
  const Data data(1);
  std::printf("%d epochs  micro-batches      time   test accuracy\n", epochs);
  auto cpu = train<Net>("processor", 512, data);
  auto gpu = train<OnGpu>("GPU", 512, data);
  auto parts = train<OnGpu>("GPU", 100, data);
  long long bits = 0;
  for (auto* other : {&gpu, &parts})
    bits += differing_bits(cpu.session().parameter_bytes(), other->session().parameter_bytes()) +
            differing_bits(cpu.session().optimizer_state_bytes(), other->session().optimizer_state_bytes());
  std::printf("differing bits of parameters and optimizer state: %lld\n", bits);
  return bits == 0 ? 0 : 1;
}
