// Adam alone: the bytes that it must move (three arrays read and written, one read: 28 for each parameter) against a STREAM
// triad over arrays as large, in the same run, medians of interleaved rounds; one and two threads.
#include <cstdio>

#include "lone_update.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

/// a = b + 3·c, in parts.
void triad(float* a, const float* b, const float* c, cpu::Part::Range part) {
  GRADUAL_IVDEP
  for (std::int64_t i = part.begin; i < part.end; ++i) a[i] = b[i] + 3.0f * c[i];
}

template <std::int64_t Count>
void measure(int threads) {
  using Update = LoneUpdate<Adam, Count>;
  const HeapBlock memory(Update::bytes);
  const Update update(memory.data());
  const auto scalars = Update::scalar_values(Adam{});
  std::memcpy(update.scalars(), scalars.data(), scalars.size() * 4);
  float* const gradient = reinterpret_cast<float*>(memory.data() + Update::arena);
  for (std::int64_t i = 0; i < Count; ++i) gradient[i] = 0.5f + static_cast<float>(i % 7);

  const HeapBlock arrays(Update::arena * 3);
  float* const a = reinterpret_cast<float*>(arrays.data());
  constexpr std::int64_t next = Update::arena / 4;
  cpu::ThreadPool pool(threads);
  const int rounds = Count > 1'000'000 ? 15 : 201, repeats = Count > 100'000 ? 1 : 100;
  std::vector<double> ours, stream;
  for (int r = 0; r < rounds; ++r) {
    ours.push_back(seconds([&] {
      for (int k = 0; k < repeats; ++k)
        cpu::Executor<typename Update::Program>::template run<Phase::boundary>(update.arguments(), threads > 1 ? &pool : nullptr);
    }) / repeats);
    stream.push_back(seconds([&] {
      for (int k = 0; k < repeats; ++k)
        if (threads == 1) triad(a, a + next, a + 2 * next, {0, Count});
        else pool.run([&](int index) { triad(a, a + next, a + 2 * next, cpu::Part{index, threads}.of(Count)); });
    }) / repeats);
  }
  const double moved = 28.0 * Count / median(ours), streamed = 12.0 * Count / median(stream);
  std::printf("%10lld %8d %12.2f %14.1f %14.1f %10.2f\n", static_cast<long long>(Count), threads, 1e6 * median(ours), 1e-9 * moved,
              1e-9 * streamed, moved / streamed);
}

}  // namespace

int main() {
  std::printf("parameters  threads   Adam in us   moves GB/s   triad GB/s      ratio\n");
  measure<1'000>(1);
  measure<10'000>(1);
  measure<100'000>(1);
  measure<1'000'000>(1);
  measure<10'000'000>(1);
  measure<10'000'000>(2);
}
