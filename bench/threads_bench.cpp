// A training step on one thread and on several: times in interleaved rounds, and the bits that differ (none).
#include <cstdio>
#include <thread>

#include "nets.hpp"

using namespace nets;

namespace {

template <class Model>
void row(const char* name, int batch) {
  using Net = NetOf<Model, i32>;
  const auto x = numbers(static_cast<std::size_t>(batch * Model::width[0]), 1);
  const auto y = labels(static_cast<std::size_t>(batch));
  const int threads = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  Session one(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .threads = 1});
  Session all(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .threads = threads});
  std::vector<double> alone, together;
  for (int round = 0; round < 21; ++round) {
    alone.push_back(seconds([&] { one.accumulate(x, y); }));
    together.push_back(seconds([&] { all.accumulate(x, y); }));
  }
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < one.parameter_bytes().size(); ++i)
    bits += __builtin_popcount(static_cast<unsigned>(one.parameter_bytes()[i] ^ all.parameter_bytes()[i]));
  std::printf("%-20s %6d %14.1f %8d %14.1f %8.2f %16lld\n", name, batch, 1e6 * median(alone), threads, 1e6 * median(together),
              median(alone) / median(together), static_cast<long long>(bits));
}

}  // namespace

int main() {
  std::printf("%-20s %6s %14s %8s %14s %8s %16s\n", "net", "batch", "1 thread, us", "threads", "us", "ratio", "differing bits");
  row<Classifier<784, 256, 128, 10>>("784-256-128-10", 128);
  row<Classifier<1024, 1024, 1024, 10>>("1024-1024-1024-10", 256);
}
