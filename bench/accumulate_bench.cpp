// Accumulated against large-batch: one window of 512 samples as k micro-batches, k = 1 … 64. Time per sample as the
// ratio to k = 1 in interleaved rounds, bytes of the arena, and the bits in which parameters and state differ.
#include <cstdio>

#include "nets.hpp"

using namespace nets;

namespace {

template <class Model>
void table(const char* name) {
  using Net = NetOf<Model, i32>;
  constexpr std::int64_t window = 512;
  const auto x = numbers(static_cast<std::size_t>(window * Model::width[0]), 1);
  std::vector<std::int32_t> y(window);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int32_t>(i * 7 % 10);
  using Trained = Session<Net, Accumulate<Adam>>;
  std::vector<Trained> sessions;
  std::vector<std::vector<double>> times(7);
  for (int k = 0; k < 7; ++k)
    sessions.emplace_back(Net{}, Accumulate{Adam{}}, SessionOptions{.global_batch = window, .micro_batch = window >> k});
  for (int round = 0; round < 40; ++round)
    for (std::size_t k = 0; k < 7; ++k) times[k].push_back(seconds([&] { sessions[k].accumulate(x, y); }));
  std::printf("\n%s, windows of %d\n%6s %12s %14s %8s %14s %16s\n", name, static_cast<int>(window), "k", "micro-batch",
              "ns per sample", "ratio", "arena bytes", "differing bits");
  for (std::size_t k = 0; k < 7; ++k) {
    std::int64_t bits = 0;
    for (auto part : {&Trained::parameter_bytes, &Trained::optimizer_state_bytes}) {
      const auto a = (sessions[0].*part)(), b = (sessions[k].*part)();
      for (std::size_t i = 0; i < a.size(); ++i) bits += __builtin_popcount(static_cast<unsigned>(a[i] ^ b[i]));
    }
    std::printf("%6d %12d %14.0f %8.3f %14lld %16lld\n", 1 << k, static_cast<int>(window >> k),
                1e9 * median(times[k]) / window, median(times[k]) / median(times[0]),
                static_cast<long long>(sessions[k].memory().total()), static_cast<long long>(bits));
  }
}

}  // namespace

int main() {
  table<Classifier<64, 128, 10>>("64-128-10");
  table<Classifier<784, 256, 128, 10>>("784-256-128-10");
}
