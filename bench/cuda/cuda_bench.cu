// Whole training steps on the GPU: host data in, one optimizer step, medians of rounds; and the update alone, by the bytes
// that it must move. One JSON object for each line; the peaks are measured in the same run.
#include <cstdio>

#include <gradual/cuda.hpp>

#include "../lone_update.hpp"
#include "../nets.hpp"

using namespace nets;

namespace {

/// Chains of fused multiply-adds that wait for nothing.
template <class T>
__global__ void multiply_add(T* out, int steps) {
  T chain[16];
  for (int i = 0; i < 16; ++i) chain[i] = static_cast<T>(i);
  for (int s = 0; s < steps; ++s)
    for (int i = 0; i < 16; ++i) chain[i] = math::fma(chain[i], T(0.999), T(1e-3));
  for (int i = 1; i < 16; ++i) chain[0] += chain[i];
  if (chain[0] == T(-1)) *out = chain[0];
}

/// a = b + s·c: 12 bytes for each element.
template <class T>
__global__ void triad(T* a, const T* b, const T* c, std::int64_t count) {
  for (std::int64_t i = cuda::global_thread(); i < count; i += cuda::global_threads()) a[i] = math::fma(T(3), c[i], b[i]);
}

template <class F>
double median_seconds(int rounds, const cuda::Stream& stream, F f) {
  std::vector<double> times;
  for (int r = 0; r < rounds; ++r)
    times.push_back(seconds([&] {
      f();
      stream.wait();
    }));
  return median(times);
}

double measure_flops() {
  const cuda::Memory out(64);
  const cuda::Stream stream;
  constexpr int blocks = 132 * 8, threads = 256, steps = 20000;
  const double time = median_seconds(5, stream, [&] {
    stream.launch(&multiply_add<float>, blocks, threads, reinterpret_cast<float*>(out.data()), steps);
  });
  return 2.0 * 16 * steps * blocks * threads / time;
}

double measure_bandwidth() {
  constexpr std::int64_t count = 1 << 28;
  const cuda::Memory memory(count * 12);
  const cuda::Stream stream;
  float* a = reinterpret_cast<float*>(memory.data());
  const double time = median_seconds(9, stream, [&] {
    stream.launch(&triad<float>, 132 * 16, 1024, a, static_cast<const float*>(a + count), static_cast<const float*>(a + 2 * count), count);
  });
  return 12.0 * count / time;
}

template <class Model, class Target>
void step(const char* name, int batch, int rounds, double peak) {
  using Element = std::remove_all_extents_t<Target>;
  using Net = Compiled<Model, Inputs<f32[static_cast<std::size_t>(Model::width[0])], Target>, Cuda>;
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch});
  const auto x = numbers(static_cast<std::size_t>(batch * Model::width[0]), 1);
  std::vector<Element> y(static_cast<std::size_t>(batch));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<Element>(i * 7 % 10);
  for (int i = 0; i < 5; ++i) session.accumulate(x, y);
  std::vector<double> times;
  for (int r = 0; r < rounds; ++r) times.push_back(seconds([&] { session.accumulate(x, y); }));
  const double time = median(times);
  std::printf("{\"what\": \"step\", \"net\": \"%s\", \"batch\": %d, \"us\": %.2f, \"of_fp32_peak\": %.3f}\n", name, batch,
              1e6 * time, step_flops<Model>(batch) / time / peak);
  std::fflush(stdout);
}

/// Adam alone, on parameters, gradient and moments that lie on the device.
void adam(double bandwidth) {
  constexpr std::int64_t count = 10'000'000;
  using Update = LoneUpdate<Adam, count>;
  const cuda::Memory memory(Update::bytes), step(sizeof(cuda::Step));
  const cuda::Stream stream;
  const Update update(memory.data());
  const auto scalars = Update::scalar_values(Adam{});
  stream.copy(update.scalars(), scalars.data(), static_cast<std::int64_t>(scalars.size()) * 4);
  const cuda::Launch launch{stream, update.arguments(), reinterpret_cast<const cuda::Step*>(step.data()), 1};
  const double time =
      median_seconds(21, stream, [&] { cuda::Executor<typename Update::Program>::template run<Phase::boundary>(launch); });
  std::printf("{\"what\": \"adam\", \"parameters\": %lld, \"us\": %.2f, \"of_triad_bandwidth\": %.3f}\n",
              static_cast<long long>(count), 1e6 * time, 28.0 * count / time / bandwidth);
}

}  // namespace

int main() {
  if (!cuda::device_found()) {
    std::puts("not measured: no CUDA device");
    return 0;
  }
  const double peak = measure_flops(), bandwidth = measure_bandwidth();
  std::printf("{\"what\": \"peaks\", \"fp32_tflops\": %.1f, \"triad_gb_per_s\": %.0f}\n", peak * 1e-12, bandwidth * 1e-9);
  step<Tiny, f32[1]>("2-16-16-1", 32, 200, peak);
  step<Classifier<64, 128, 10>, i32>("64-128-10", 64, 200, peak);
  step<Classifier<784, 256, 128, 10>, i32>("784-256-128-10", 128, 200, peak);
  step<Classifier<1024, 1024, 1024, 10>, i32>("1024-1024-1024-10", 256, 100, peak);
  step<Classifier<4096, 4096, 4096, 10>, i32>("4096-4096-4096-10", 4096, 20, peak);
  adam(bandwidth);
}
