// Whole training steps on the GPU in each of the numerics, and eager: host data in, one optimizer step, medians of rounds;
// and the update alone, by the bytes that it must move. One JSON object per line; the peaks are measured in the same run.
// Usage: cuda_bench [part of a net's name, a space and its numerics]...
#include <cstdio>
#include <string>

#include <gradual/cuda_fast.hpp>

#include "device_update.hpp"
#include "../nets.hpp"

using namespace nets;

namespace {

/// Runs independent chains of fused multiply-adds.
template <class T>
__global__ void multiply_add(T* out, int steps) {
  T chain[16];
  for (int i = 0; i < 16; ++i) chain[i] = static_cast<T>(i);
  for (int s = 0; s < steps; ++s)
    for (int i = 0; i < 16; ++i) chain[i] = math::fma(chain[i], T(0.999), T(1e-3));
  for (int i = 1; i < 16; ++i) chain[0] += chain[i];
  if (chain[0] == T(-1)) *out = chain[0];
}

/// Computes a = b + 3·c: 12 bytes for each element.
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
    stream.launch(&triad<float>, 132 * 16, 1024, a, static_cast<const float*>(a + count),
                  static_cast<const float*>(a + 2 * count), count);
  });
  return 12.0 * count / time;
}

struct Peaks {
  double flops, bandwidth;
};

template <class Model, class Target, class Where>
using NetOn = Compiled<Model, Inputs<typename SampleOf<Model>::type, Target>, Where>;

template <class Model>
std::vector<float> samples(int batch) {
  const auto sample = gradual::detail::sample_shape<typename SampleOf<Model>::type>();
  return numbers(static_cast<std::size_t>(batch * sample.unit()), 1);
}

template <class Target>
std::vector<std::remove_all_extents_t<Target>> targets(int batch) {
  const auto y = labels(static_cast<std::size_t>(batch));
  return {y.begin(), y.end()};
}

/// A copy of values in pinned memory, or in the device's.
template <class Memory, class T>
struct ValuesIn {
  Memory memory;
  std::size_t count;
  explicit ValuesIn(const std::vector<T>& values)
      : memory(static_cast<std::int64_t>(values.size() * sizeof(T))), count(values.size()) {
    const cuda::Stream stream;
    stream.write(memory.data(), values.data(), memory.size());
    stream.wait();
  }
  std::span<const T> span() const { return {reinterpret_cast<const T*>(memory.data()), count}; }
};
template <class Memory, class T>
ValuesIn<Memory, T> values_in(const std::vector<T>& values) {
  return ValuesIn<Memory, T>(values);
}

/// Median times of a step that is waited for, and of one of many in flight, whose copies overlap kernels of the one before.
struct StepTimes {
  double waited, in_flight;
  template <class Session, class F>
  StepTimes(const Session& session, int rounds, F add) {
    const auto some = [&](int steps) {
      return seconds([&] {
        for (int i = 0; i < steps; ++i) add();
        session.wait();
      }) / steps;
    };
    std::vector<double> times, flights;
    for (int i = 0; i < 5; ++i) add();
    for (int i = 0; i < rounds; ++i) times.push_back(some(1));
    for (int i = 0; i < 3; ++i) flights.push_back(some(rounds / 2));
    waited = median(times), in_flight = median(flights);
  }
};

/// Prints `us` and `us_in_flight` for data in pinned memory, and `copies_us` for its copies alone; the other times are for data
/// in other host memory and on the device. The shares of the peaks are those of the faster time in flight.
template <class Model, class Target, class Where>
void step(const char* net, const char* numerics, int batch, int micro_batch, int rounds, const Peaks& peaks) {
  using Net = NetOn<Model, Target, Where>;
  const std::int64_t before = cuda::free_memory();
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .micro_batch = micro_batch});
  const auto x = samples<Model>(batch);
  const auto y = targets<Target>(batch);
  const auto times_of = [&](const auto& x_there, const auto& y_there) {
    return StepTimes(session, rounds, [&] { session.accumulate(x_there, y_there); });
  };
  const StepTimes not_pinned = times_of(x, y);
  const std::int64_t beside = before - cuda::free_memory() - session.allocated_bytes();  // kernels, graphs, the library's own
  const auto pinned_x = values_in<cuda::Pinned>(x);
  const auto pinned_y = values_in<cuda::Pinned>(y);
  const StepTimes pinned = times_of(pinned_x.span(), pinned_y.span());
  const cuda::Memory memory(static_cast<std::int64_t>((x.size() + y.size()) * 4));
  const cuda::Stream stream;
  const double copies = median_seconds(rounds, stream, [&] {
    stream.copy(memory.data(), pinned_x.memory.data(), pinned_x.memory.size());
    stream.copy(memory.data() + pinned_x.memory.size(), pinned_y.memory.data(), pinned_y.memory.size());
  });
  const auto device_x = values_in<cuda::Memory>(x);
  const auto device_y = values_in<cuda::Memory>(y);
  const StepTimes device = times_of(device_x.span(), device_y.span());
  const double flight = std::min(pinned.in_flight, device.in_flight);
  std::printf(
      "{\"what\": \"step\", \"net\": \"%s\", \"numerics\": \"%s\", \"batch\": %d, \"micro_batch\": %d, \"us\": %.2f, "
      "\"us_in_flight\": %.2f, \"us_not_pinned\": %.2f, \"us_on_device\": %.2f, \"us_on_device_in_flight\": %.2f, "
      "\"copies_us\": %.2f, \"of_fp32_peak\": %.3f, \"of_bandwidth\": %.3f, \"bytes\": %lld, "
      "\"bytes_pinned\": %lld, \"bytes_beside\": %lld, \"samples_in_one_launch\": %lld}\n",
      net, numerics, batch, micro_batch, 1e6 * pinned.waited, 1e6 * pinned.in_flight, 1e6 * not_pinned.waited,
      1e6 * device.waited, 1e6 * device.in_flight, 1e6 * copies,
      step_flops<Model>(batch) / flight / peaks.flops, step_bytes<Model>(batch) / flight / peaks.bandwidth,
      static_cast<long long>(session.allocated_bytes()), static_cast<long long>(session.pinned_bytes()),
      static_cast<long long>(beside),
      static_cast<long long>(Where::template samples_in_one_launch<typename Net::Training>()));
  std::fflush(stdout);
}

/// Measures the same step with one kernel per op; it ends by checking that the gradient is finite, so it is always waited for.
template <class Model, class Target>
void eager_step(const char* net, int batch, int rounds) {
  Parameters parameters(Device::cuda(0));
  const Model model(parameters.root());
  Session session(parameters, Accumulate{Adam{}}, {.global_batch = batch});
  const auto x = samples<Model>(batch);
  const auto y = targets<Target>(batch);
  const auto record = [&](EagerTape& tape) {
    return model.loss(tape.input(x, gradual::detail::sample_shape<typename SampleOf<Model>::type>()),
                      tape.input(y, gradual::detail::sample_shape<Target>()));
  };
  for (int i = 0; i < 5; ++i) session.accumulate(batch, record);
  std::vector<double> times;
  for (int r = 0; r < rounds; ++r) times.push_back(seconds([&] { session.accumulate(batch, record); }));
  std::printf("{\"what\": \"eager step\", \"net\": \"%s\", \"batch\": %d, \"us\": %.2f, \"bytes\": %lld}\n", net, batch,
              1e6 * median(times), static_cast<long long>(parameters.device().reserved_bytes()));
  std::fflush(stdout);
}

bool failed = false;
std::vector<std::string_view> asked_for;  // names of measurements; all if empty

/// Runs a measurement if it is asked for. A failure is reported, and the others go on.
template <class F>
void measure(const char* net, const char* what, F f) try {
  const std::string name = net + std::string(" ") + what;
  const auto named = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (!asked_for.empty() && std::none_of(asked_for.begin(), asked_for.end(), named)) return;
  f();
} catch (const std::exception& error) {
  std::string text = error.what();
  for (char& c : text)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '\'';  // keeps the JSON valid
  std::printf("{\"what\": \"failed\", \"net\": \"%s\", \"numerics\": \"%s\", \"error\": \"%s\"}\n", net, what, text.c_str());
  std::fflush(stdout);
  failed = true;
}

template <class Model>
constexpr bool has_large_products = Model::count > 2 && Model::width[1] >= 64;
template <>
constexpr bool has_large_products<Convolutional> = true;

/// Measures steps in all numerics; in TF32 only if products are large.
template <class Model, class Target>
void steps(const char* net, int batch, int micro_batch, int rounds, const Peaks& peaks) {
  const auto measured = [&]<class Where>(const char* numerics, Where) {
    measure(net, numerics, [&] { step<Model, Target, Where>(net, numerics, batch, micro_batch, rounds, peaks); });
  };
  measured("reproducible", Cuda());
  if constexpr (Cuda::samples_in_one_launch<typename NetOn<Model, Target, Cuda>::Training>() > 0)
    measured("reproducible, separate launches", CudaWith<Numerics::reproducible, Precision::float32, Launches::separate>());
  if (batch == micro_batch) measure(net, "eager", [&] { eager_step<Model, Target>(net, batch, rounds); });
  measured("fast float32", CudaWith<Numerics::fast>());
  if constexpr (has_large_products<Model>) measured("fast tf32", CudaWith<Numerics::fast, Precision::tf32>());
}

/// A rule that moves as few bytes as a map can: 12 for each element, like a triad.
struct Descent {
  Scalar learning_rate = 0.1;
  struct State {};
  constexpr auto operator()(Var parameter, Var gradient, State, Var) const {
    return update(parameter - learning_rate * gradient, State{});
  }
};

/// Measures an update alone, on parameters, gradient and states on the device, as one of several in flight. `bytes`: the bytes
/// that it must move for each parameter.
template <class Rule>
void update_alone(const char* name, double bytes, double bandwidth) {
  constexpr std::int64_t count = 10'000'000;
  using Update = DeviceUpdate<Rule, count>;
  const cuda::Memory memory(Update::bytes), step(sizeof(cuda::Step));
  const cuda::Stream stream;
  const Update update(memory.data());
  const auto scalars = Update::scalar_values(Rule{});
  stream.copy(update.scalars(), scalars.data(), static_cast<std::int64_t>(scalars.size()) * 4);
  const cuda::Launch launch{stream, update.arguments(), reinterpret_cast<const cuda::Step*>(step.data()), 1};
  cuda::CanonicalProducts none;
  constexpr int together = 20;
  const double time = median_seconds(11, stream, [&] {
    for (int i = 0; i < together; ++i) cuda::Executor<typename Update::Program>::template run<Phase::boundary>(launch, none);
  }) / together;
  std::printf("{\"what\": \"%s\", \"parameters\": %lld, \"us\": %.2f, \"of_triad_bandwidth\": %.3f}\n", name,
              static_cast<long long>(count), 1e6 * time, bytes * count / time / bandwidth);
}

}  // namespace

int main(int count, char** arguments) {
  asked_for.assign(arguments + 1, arguments + count);
  if (!cuda::device_found()) {
    std::puts("not measured: no CUDA device");
    return 0;
  }
  const Peaks peaks{measure_flops(), measure_bandwidth()};
  std::printf("{\"what\": \"peaks\", \"fp32_tflops\": %.1f, \"triad_gb_per_s\": %.0f, \"cudnn\": %s}\n",
              peaks.flops * 1e-12, peaks.bandwidth * 1e-9, cuda::has_convolution_library ? "true" : "false");
  steps<Tiny, f32[1]>("2-16-16-1", 32, 32, 200, peaks);
  steps<Classifier<64, 128, 10>, i32>("64-128-10", 64, 64, 200, peaks);
  steps<Classifier<64, 128, 10>, i32>("64-128-10", 16, 16, 200, peaks);
  steps<Classifier<784, 256, 128, 10>, i32>("784-256-128-10", 128, 128, 200, peaks);
  steps<Classifier<784, 256, 128, 10>, i32>("784-256-128-10", 8192, 512, 50, peaks);  // large inputs
  steps<Classifier<1024, 1024, 1024, 10>, i32>("1024-1024-1024-10", 256, 256, 100, peaks);
  steps<Classifier<4096, 4096, 4096, 10>, i32>("4096-4096-4096-10", 4096, 4096, 20, peaks);
  steps<Convolutional, i32>("convolutions of 8 and 16 planes", 64, 64, 100, peaks);
  steps<Convolutional, i32>("convolutions of 8 and 16 planes", 4096, 4096, 20, peaks);
  using Wide = Classifier<64, 64, 64, 64, 64, 10>;
  for (int batch = 1 << 8; batch <= 1 << 20; batch *= 4) steps<Wide, i32>("64-64-64-64-64-10", batch, batch, 20, peaks);
  steps<Wide, i32>("64-64-64-64-64-10", 1 << 20, 1 << 18, 20, peaks);  // accumulated
  measure("10000000 parameters", "adam", [&] { update_alone<Adam>("adam", 28, peaks.bandwidth); });
  measure("10000000 parameters", "descent", [&] { update_alone<Descent>("descent", 12, peaks.bandwidth); });
  return failed ? 1 : 0;
}
