// One training step with Adam, in Google Benchmark's own report: filters, repetitions and JSON are its options.
#include <benchmark/benchmark.h>

#include "nets.hpp"

using namespace nets;

namespace {

/// The sample count is the benchmark's argument.
template <class Model>
void step(benchmark::State& state) {
  using Net = NetOf<Model, i32>;
  const auto batch = static_cast<int>(state.range(0));
  const auto x = numbers(static_cast<std::size_t>(batch * Model::width[0]), 1);
  const auto y = labels(static_cast<std::size_t>(batch));
  std::uint64_t seed = 0;
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch});
  for (auto _ : state) {
    if (session.step_count() == 300) {  // later, gradients are so small that their moments become subnormal
      state.PauseTiming();
      session = Session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .seed = ++seed});
      state.ResumeTiming();
    }
    session.accumulate(x, y);
  }
  state.SetItemsProcessed(state.iterations() * batch);
  state.counters["FLOPs"] = benchmark::Counter(step_flops<Model>(batch), benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK_TEMPLATE(step, Classifier<64, 128, 10>)->Arg(1)->Arg(64)->Arg(512)->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(step, Classifier<784, 256, 128, 10>)->Arg(128)->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(step, Classifier<1024, 1024, 1024, 10>)->Arg(256)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
