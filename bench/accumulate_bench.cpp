// Accumulated against large-batch training: one window of 512 samples as k micro-batches, k = 1 … 64. Time per sample
// relative to k = 1 in interleaved rounds, bytes of the arena, and the number of bits in which parameters and state differ.
// Then, for every optimizer at its default rate, the same for 8 micro-batches of 64, and the loss after the same number of
// samples in windows of 512, at once and accumulated, and in windows of 64.
#include <cstdio>
#include <string>

#include "../tests/rule_list.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

/// Returns the number of bits in which the parameters and the optimizer states of two sessions differ.
template <class Session>
long long differing_bits(const Session& one, const Session& other) {
  long long bits = 0;
  for (auto part : {&Session::parameter_bytes, &Session::optimizer_state_bytes}) {
    const auto a = (one.*part)(), b = (other.*part)();
    for (std::size_t i = 0; i < a.size(); ++i) bits += __builtin_popcount(static_cast<unsigned>(a[i] ^ b[i]));
  }
  return bits;
}

template <class Model>
void table(const char* name) {
  using Net = NetOf<Model, i32>;
  constexpr std::int64_t window = 512;
  const auto x = numbers(static_cast<std::size_t>(window * Model::width[0]), 1);
  const auto y = labels(window);
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
    std::printf("%6d %12d %14.0f %8.3f %14lld %16lld\n", 1 << k, static_cast<int>(window >> k),
                1e9 * median(times[k]) / window, median(times[k]) / median(times[0]),
                static_cast<long long>(sessions[k].memory().total()), differing_bits(sessions[0], sessions[k]));
  }
}

using Net = NetOf<Classifier<64, 128, 10>, i32>;
constexpr std::int64_t window = 512, small = 64, windows = 60;

/// Samples whose class is the index of the largest of their first ten values.
struct Samples {
  std::vector<float> x = numbers(window * 64, 3);
  std::vector<std::int32_t> y;
  Samples() {
    for (const float* at = x.data(); at < x.data() + x.size(); at += 64)
      y.push_back(static_cast<std::int32_t>(std::max_element(at, at + 10) - at));
  }
};

template <class Rule>
void row(const Samples& s) {
  using Trained = Session<Net, Accumulate<Rule>>;
  const auto make = [](std::int64_t of, std::int64_t part) {
    return Trained(Net{}, Accumulate{Rule{}},
                   {.global_batch = of, .micro_batch = part, .open_blocks = OpenBlocks::as_needed, .seed = 1});
  };
  Trained whole = make(window, window), parts = make(window, small), each = make(small, small);
  const auto learn = [&s](Trained& session) {
    const auto count = static_cast<std::size_t>(session.options().global_batch);
    for (std::size_t at = 0; at < s.y.size(); at += count)
      do session.accumulate(std::span(s.x).subspan(at * 64, count * 64), std::span(s.y).subspan(at, count));
      while (session.again());
  };
  std::vector<double> at_once, accumulated;
  for (std::int64_t i = 0; i < windows; ++i) {
    at_once.push_back(seconds([&] { learn(whole); }));
    accumulated.push_back(seconds([&] { learn(parts); }));
    learn(each);
  }
  std::string name = detail::name_in(detail::named_type<Rule>());
  for (std::size_t at; (at = name.find("gradual::")) != name.npos;) name.erase(at, 9);
  const auto loss = [&](Trained& session) { return session.evaluate(s.x, s.y).loss(); };
  std::printf("%-14s %10.0f %10.3f %10lld %10lld %10lld %10.4f %10.4f %10.4f\n", name.c_str(), 1e9 * median(at_once) / window,
              median(accumulated) / median(at_once), static_cast<long long>(whole.memory().total()),
              static_cast<long long>(parts.memory().total()), differing_bits(whole, parts), loss(whole), loss(parts),
              loss(each));
}
template <class... Rule>
struct Rows {
  static void print(const Samples& samples) { (row<Rule>(samples), ...); }
};

}  // namespace

int main() {
  table<Classifier<64, 128, 10>>("64-128-10");
  table<Classifier<784, 256, 128, 10>>("784-256-128-10");
  std::printf(
      "\n64-128-10, windows of 512 at once (1 x 512) and accumulated (8 x 64), and of 64; losses after %lld samples\n"
      "%-14s %10s %10s %10s %10s %10s %10s %10s %10s\n",
      static_cast<long long>(windows * window), "optimizer", "ns/sample", "8x64/1x512", "B, 1x512", "B, 8x64", "bits", "1x512",
      "8x64", "of 64");
  const Samples samples;
  models::EveryRule::to<Rows>::print(samples);
  row<Sam<Adam>>(samples);
}
