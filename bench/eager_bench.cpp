// The same training step compiled and eager: medians of interleaved rounds, and what eager costs more for each recorded op.
#include <cstdio>

#include "nets.hpp"

using namespace nets;

namespace {

template <class Model, class Target, class E>
void row(const char* name, std::int64_t batch, const std::vector<E>& y) {
  const auto x = numbers(static_cast<std::size_t>(batch * Model::width[0]), 1);
  Session compiled(NetOf<Model, Target>{}, Accumulate{Adam{}}, {.global_batch = batch});
  Parameters parameters(Device::cpu());
  const Model net(parameters.root());
  Session eager(parameters, Accumulate{Adam{}}, {.global_batch = batch});
  int ops = trace_update(Adam{}, 1).size();
  const auto record = [&](EagerTape& tape) {
    return net.loss(tape.input(x, {Model::width[0]}), tape.input(y, gradual::detail::sample_shape<Target>()));
  };
  {
    EagerTape tape(parameters, batch);
    BackwardSpace space;
    record_gradients(tape, record(tape), space);
    ops += tape.size();
  }
  std::vector<double> fast, slow;
  const int repeats = batch < 100 ? 100 : 5;
  for (int round = 0; round < 60; ++round) {
    fast.push_back(seconds([&] { for (int i = 0; i < repeats; ++i) compiled.accumulate(x, y); }) / repeats);
    slow.push_back(seconds([&] { for (int i = 0; i < repeats; ++i) eager.accumulate(batch, record); }) / repeats);
  }
  const double c = median(fast), e = median(slow);
  std::printf("%-22s %5lld %12.1f %12.1f %7.2f %5d %12.0f %14lld\n", name, static_cast<long long>(batch), 1e6 * c, 1e6 * e, e / c,
              ops, 1e9 * (e - c) / ops, static_cast<long long>(parameters.device().reserved_bytes()));
}

std::vector<std::int32_t> labels(std::size_t count) {
  std::vector<std::int32_t> y(count);
  for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<std::int32_t>(i * 7 % 10);
  return y;
}

}  // namespace

int main() {
  std::printf("%-22s %5s %12s %12s %7s %5s %12s %14s\n", "net", "batch", "compiled us", "eager us", "ratio", "ops", "ns more/op",
              "eager bytes");
  row<Tiny, f32[1]>("2-16-16-1 tanh mse", 32, std::vector<float>(32, 0.5f));
  row<Classifier<64, 128, 10>, i32>("64-128-10", 64, labels(64));
  row<Classifier<784, 256, 128, 10>, i32>("784-256-128-10", 128, labels(128));
  row<Classifier<1024, 1024, 1024, 10>, i32>("1024-1024-1024-10", 256, labels(256));
}
