// Adam alone: the bytes that it must move (three arrays read and written, one read: 28 for each parameter) against those of a
// STREAM triad (two read, one written: 12 for each element; neither counts lines that are read only to be written), in the
// same run, medians of interleaved rounds; one and two threads. As STREAM requires, each array of the triad is four times
// the largest cache, which also evicts all of Adam's arrays. Then what `Accumulate` does around the update at the end of a
// window: sums become gradients (float sums already are, in place), which are read once more to check that all are finite.
#include <unistd.h>

#include <cstdio>
#include <gradual/core/system_memory.hpp>

#include "lone_update.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

/// Computes a = b + 3·c in one part.
void triad(float* a, const float* b, const float* c, cpu::Part::Range part) {
  GRADUAL_IVDEP
  for (std::int64_t i = part.begin; i < part.end; ++i) a[i] = b[i] + 3.0f * c[i];
}

/// Returns the floats in each array of the triad: four times the largest cache, or as many as fit into half of the free memory.
std::int64_t triad_elements() {
  std::int64_t cache = 32_MiB;
#if defined(_SC_LEVEL3_CACHE_SIZE)  // unlike on macOS
  cache = std::max<std::int64_t>(cache, ::sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
  const std::int64_t wanted = cache * 4, room = system_memory().free / 2 / 3 / 64 * 64;
  std::printf("largest cache %lld MiB, arrays of the triad %lld MiB each\n", static_cast<long long>(cache / 1_MiB),
              static_cast<long long>(std::min(wanted, room) / 1_MiB));
  return std::min(wanted, room) / 4;
}

/// `triad_count`: elements of the triad's arrays; 0: Adam alone.
void measure(std::int64_t count, int threads, std::int64_t triad_count = 0) {
  LoneUpdate<Adam> update(count);
  const Cpu::Queue queue(threads);
  const HeapBlock arrays(triad_count * 3 * 4);
  float* const a = reinterpret_cast<float*>(arrays.data());
  const int rounds = triad_count > 0 ? 5 : 201, repeats = count > 100'000 ? 1 : 100;
  std::vector<double> ours, stream;
  for (int r = 0; r < rounds; ++r) {
    ours.push_back(seconds([&] {
      for (int k = 0; k < repeats; ++k) update.run(queue);
    }) / repeats);
    if (triad_count > 0)
      stream.push_back(seconds([&] {
        const auto part = [&](int index) {
          triad(a, a + triad_count, a + 2 * triad_count, cpu::Part{index, threads}.of(triad_count));
        };
        if (queue.pool() == nullptr) part(0);
        else queue.pool()->run(part);
      }));
  }
  const double moved = 28.0 * static_cast<double>(count) / median(ours);
  std::printf("%10lld %8d %12.2f %14.1f", static_cast<long long>(count), threads, 1e6 * median(ours), 1e-9 * moved);
  if (triad_count == 0) return static_cast<void>(std::printf("\n"));
  const double streamed = 12.0 * static_cast<double>(triad_count) / median(stream);
  std::printf(" %14.1f %10.2f\n", 1e-9 * streamed, moved / streamed);
}

/// A net of one vector; a sample's numbers are its gradient.
template <std::int64_t Count>
struct Vector {
  Parameter vector;
  constexpr explicit Vector(Scope s) : vector(s.parameter("vector", Shape{Count}, init::constant(0))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(x * vector, {-1})); }
};

/// Measures the end of a window of sums in S, as a session's step runs it, beside the update in it. `bytes`: the bytes that
/// finishing moves for each parameter; the check reads 4.
template <std::int64_t Count, class S>
void measure_boundary(int threads, double bytes) {
  using Net = Compiled<Vector<Count>, Inputs<f32[Count]>>;
  using Layout = TrainingLayout<Net, Adam, S>;
  gradual::detail::SessionArena<Cpu, float, S> arena(
      session_tables<Net, Adam, S>,
      {&Cpu::kernels_of<typename Layout::Training>,
       &gradual::detail::UpdateProgram<Cpu, typename Layout::UpdateProgram>::kernels()},
      {.global_batch = 1, .micro_batch = 1, .threads = threads}, false, [](int, std::string_view) { return 0.0f; });
  const LoneUpdate<Adam> lone(1);
  for (std::int64_t i = 0; i < Count; ++i) arena.gradients()[i] = 0.5f + static_cast<float>(i % 7);  // as a pair: (0, value)
  bool finite = true;
  std::vector<double> update, finish, check;
  for (int r = 0; r < 21; ++r) {
    finish.push_back(seconds([&] { arena.finish_gradients(1); }));
    check.push_back(seconds([&] { finite = finite && arena.queue().all_finite(arena.gradients(), Count); }));
    update.push_back(seconds([&] { arena.update(lone.numbers()); }));
  }
  if (!finite) throw std::logic_error("the gradients are not finite");
  const double whole = median(update) + median(finish) + median(check);
  std::printf("%-17s %8d %12.2f %12.2f %12.2f %10.2f %14.2f\n", shadow_name<S>, threads, 1e6 * median(update),
              1e6 * median(finish), 1e6 * median(check), whole / median(update), (28 + 4 + bytes) / 28);
}

}  // namespace

int main() {
  const std::int64_t triad_count = triad_elements();
  std::printf("parameters  threads   Adam in us   moves GB/s   triad GB/s      ratio\n");
  measure(1'000, 1);
  measure(10'000, 1);
  measure(100'000, 1);
  measure(1'000'000, 1);
  measure(10'000'000, 1, triad_count);
  measure(10'000'000, 2, triad_count);
  std::printf("\nsums in            threads   Adam in us    finish        check     ratio  bytes' ratio\n");
  for (const int threads : {1, 2}) {
    measure_boundary<10'000'000, float>(threads, 0);
    measure_boundary<10'000'000, Compensated<bf16>>(threads, 8);
  }
}
