// The same training step compiled and eager: medians of interleaved rounds; and the cost of an op that has next to nothing
// to compute. Each round makes new sessions: on a single batch, Adam soon reaches numbers so small that processors multiply
// them slowly.
#include <cstdio>

#include "nets.hpp"

using namespace nets;

namespace {

/// Returns the number of recorded ops of a step and nodes of its update.
template <class Record>
int recorded_ops(const Parameters& parameters, std::int64_t batch, Record record) {
  EagerTape tape(parameters, batch);
  BackwardSpace space;
  record_gradients(tape, record(tape), space);
  return tape.size() + trace_update(Adam{}, 1).size();
}

template <class Model, class Target, class E>
void row(const char* name, std::int64_t batch, const std::vector<E>& y) {
  const auto x = numbers(static_cast<std::size_t>(batch * Model::width[0]), 1);
  const int rounds = batch < 100 ? 40 : 7, repeats = batch < 100 ? 60 : batch < 200 ? 20 : 5;
  std::vector<double> fast, slow;
  std::int64_t bytes = 0;
  int ops = 0;
  for (int round = 0; round < rounds; ++round) {
    const SessionOptions options{.global_batch = batch, .seed = static_cast<std::uint64_t>(round)};
    Session compiled(NetOf<Model, Target>{}, Accumulate{Adam{}}, options);
    Parameters parameters(Device::cpu());
    const Model net(parameters.root());
    Session eager(parameters, Accumulate{Adam{}}, options);
    const auto record = [&](EagerTape& tape) {
      return net.loss(tape.input(x, {Model::width[0]}), tape.input(y, gradual::detail::sample_shape<Target>()));
    };
    for (int i = 0; i < repeats; ++i) {
      fast.push_back(seconds([&] { compiled.accumulate(x, y); }));
      slow.push_back(seconds([&] { eager.accumulate(batch, record); }));
    }
    bytes = parameters.device().reserved_bytes();
    ops = recorded_ops(parameters, batch, record);
  }
  const double c = median(fast), e = median(slow);
  std::printf("%-22s %5lld %12.1f %12.1f %7.2f %5d %14lld\n", name, static_cast<long long>(batch), 1e6 * c, 1e6 * e, e / c, ops,
              static_cast<long long>(bytes));
}

/// Prints the time per op of a whole step of a net with one unit in each layer, on one sample: little of it is the kernels'.
void cost_of_an_op() {
  using Model = Classifier<1, 1, 1, 1>;
  const std::vector<float> x{0.5f};
  const std::vector<std::int32_t> y{0};
  std::vector<double> times;
  int ops = 0;
  for (int round = 0; round < 40; ++round) {
    Parameters parameters(Device::cpu());
    const Model net(parameters.root());
    Session eager(parameters, Accumulate{Adam{}}, {.global_batch = 1, .seed = static_cast<std::uint64_t>(round)});
    const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {1}), tape.input(y)); };
    for (int i = 0; i < 60; ++i) times.push_back(seconds([&] { eager.accumulate(1, record); }));
    ops = recorded_ops(parameters, 1, record);
  }
  std::printf("\nan op beside its kernel: %.0f ns (a step of 1-1-1-1 with one sample, %d ops, takes %.2f us)\n",
              1e9 * median(times) / ops, ops, 1e6 * median(times));
}

}  // namespace

int main() {
  std::printf("%-22s %5s %12s %12s %7s %5s %14s\n", "net", "batch", "compiled us", "eager us", "ratio", "ops", "eager bytes");
  row<Tiny, f32[1]>("2-16-16-1 tanh mse", 32, std::vector<float>(32, 0.5f));
  row<Classifier<64, 128, 10>, i32>("64-128-10", 64, labels(64));
  row<Classifier<784, 256, 128, 10>, i32>("784-256-128-10", 128, labels(128));
  row<Classifier<1024, 1024, 1024, 10>, i32>("1024-1024-1024-10", 256, labels(256));
  cost_of_an_op();
}
