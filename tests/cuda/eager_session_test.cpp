// Eager sessions on the GPU, or on its host twin, against those on the processor: equal bits.
#include <gradual/cuda.hpp>

#include "../error_of.hpp"
#include "cuda_test.hpp"

namespace eager_session_test {

using namespace models;

constexpr auto optimizer =
    Accumulate{LossScale{Adam{.learning_rate = 0.01f}}};  // one for all: each takes seconds to compile

/// A model with parameters of its own on a device, and its session.
template <class Model, class Optimizer, class Real = float>
struct Training {
  ParametersIn<Real> parameters;
  Model net{parameters.root()};
  Session<ParametersIn<Real>, Optimizer, Inputs<>> session;
  Training(const Device& device, const Optimizer& by, const SessionOptions& options)
      : parameters(device), session(parameters, by, options) {}
};

template <class A, class B>
void expect_same(const A& a, const B& b) {
  EXPECT_EQ(differing_bits(a.parameter_bytes(), b.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(std::as_bytes(a.optimizer_state(0)), std::as_bytes(b.optimizer_state(0))), 0);
  EXPECT_EQ(a.last_window().loss(), b.last_window().loss());
  EXPECT_EQ(a.step_count(), b.step_count());
}

/// Trains a window on both devices, on the GPU in micro-batches of 41; `record(net, tape)` returns the loss of samples.
template <class Model, class Real = float, class Record>
void expect_equal_bits(Record record) {
  Training<Model, decltype(optimizer), Real> cpu(Device::cpu(), optimizer, {.global_batch = window, .seed = 3}),
      gpu(Device::cuda(0), optimizer, {.global_batch = window, .micro_batch = 41, .seed = 3});
  for (auto* training : {&cpu, &gpu})
    training->session.accumulate(window, [&](EagerTape& tape) { return record(training->net, tape); });
  EXPECT_EQ(gpu.session.step_count(), 1);
  expect_same(cpu.session, gpu.session);
}

class CudaEagerSession : public CudaTest {};

TEST_P(CudaEagerSession, EverySumOverSamples) {
  const auto image = numbers(window * 16);
  const auto token = labels(window, 7), label = labels(window, 3);
  expect_equal_bits<Sums>([&](const Sums& net, EagerTape& tape) {
    return net.loss(tape.input(image, {1, 4, 4}), tape.input(token), tape.input(label));
  });
}

TEST_P(CudaEagerSession, Doubles) {
  const auto image = numbers_in<double>(window * 16);
  const auto token = labels(window, 7), label = labels(window, 3);
  expect_equal_bits<Sums, double>([&](const Sums& net, EagerTape& tape) {
    return net.loss(tape.input(image, {1, 4, 4}), tape.input(token), tape.input(label));
  });
}

TEST_P(CudaEagerSession, LayersThatAreUsedSeveralTimes) {
  const auto x = numbers(window * 108), y = numbers(window * 2, 2);
  expect_equal_bits<Shared>([&](const Shared& net, EagerTape& tape) {
    return net.loss(tape.input(x, {3, 36}), tape.input(y, {2}));
  });
}

/// Nine steps whose states are joined in pairs, and whose gates and inputs are slices.
struct Steps {
  nn::Gru gru;
  constexpr explicit Steps(Scope s) : gru(s / "gru", 2, 3) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(stack(gru(x), 1), y)}; }
};

TEST_P(CudaEagerSession, PiecesSideBySide) {
  const auto x = numbers(window * 18), y = numbers(window * 27, 2);
  expect_equal_bits<Steps>([&](const Steps& net, EagerTape& tape) {
    return net.loss(tape.input(x, {9, 2}), tape.input(y, {9, 3}));
  });
  const auto wide_x = numbers_in<double>(window * 18), wide_y = numbers_in<double>(window * 27, 2);
  expect_equal_bits<Steps, double>([&](const Steps& net, EagerTape& tape) {
    return net.loss(tape.input(wide_x, {9, 2}), tape.input(wide_y, {9, 3}));
  });
}

TEST_P(CudaEagerSession, GoesOnElsewhereInsideAWindow) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  const SessionOptions options{.global_batch = window, .seed = 3, .freeze = {"output/bias"}};
  using Net = Training<Dropped, decltype(optimizer)>;
  const auto accumulate = [&](Net& net, std::int64_t first, std::int64_t count) {
    net.session.accumulate(count, [&](EagerTape& tape) {
      return net.net.loss(tape.input(std::span(x).subspan(first * 9, count * 9), {9}),
                          tape.input(std::span(y).subspan(first, count)));
    });
  };
  Net whole(Device::cpu(), optimizer, options), begun(Device::cuda(0), optimizer, options);
  for (int i = 0; i < 2; ++i) accumulate(whole, 0, window);
  accumulate(begun, 0, window);
  accumulate(begun, 0, 41);
  const Checkpoint state = begun.session.state();
  Net on_gpu(Device::cuda(gradual::cuda::device_count() - 1), optimizer, options),
      on_cpu(Device::cpu(), optimizer, options);
  for (Net* net : {&on_gpu, &on_cpu}) {
    net->session.restore(state);
    accumulate(*net, 41, window - 41);
    expect_same(whole.session, net->session);
  }
}

TEST_P(CudaEagerSession, DropsWhatIsNotFiniteAndHalvesTheScale) {
  const std::vector<float> x = samples_with_a_zero();
  for (const NonFinite policy : {NonFinite::drop_window, NonFinite::drop_micro_batch}) {
    const SessionOptions options{.global_batch = 8, .micro_batch = 3, .non_finite = policy, .noise_batch = 4};
    Training<SquareRoot, decltype(optimizer)> cpu(Device::cpu(), optimizer, options),
        gpu(Device::cuda(0), optimizer, options);
    for (auto* training : {&cpu, &gpu})
      training->session.accumulate(24, [&](EagerTape& tape) { return training->net.loss(tape.input(x, {2})); });
    expect_same(cpu.session, gpu.session);
    EXPECT_EQ(gpu.session.dropped_windows() + gpu.session.dropped_micro_batches(), 1);
    EXPECT_EQ(gpu.session.loss_scale(), 32768);
    EXPECT_EQ(gpu.session.gradient_noise().windows, 1);
    EXPECT_EQ(gpu.session.gradient_noise().variance, cpu.session.gradient_noise().variance);
  }
}

#if defined(GRADUAL_CUDA_TWIN)
/// Two sums over the samples: one may have been added to when the other fails.
struct TwoSums {
  Parameter weight, bias;
  explicit TwoSums(Scope s)
      : weight(s.parameter("weight", Shape{2}, init::constant(0.5))), bias(s.parameter("bias", Shape{}, init::constant(0.5))) {}
  Loss loss(Var x) const { return Loss(sum(sqrt(x * weight), {-1}) * bias); }
};

TEST_P(CudaEagerSession, GoesOnAfterAFailedLaunch) {
  constexpr std::int64_t samples = 132, most = 129;  // a part closes a block and leaves one open
  auto x = numbers(samples * 2);
  for (float& v : x) v = v * v + 0.1f;
  for (const NonFinite policy : {NonFinite::drop_window, NonFinite::drop_micro_batch}) {
    const SessionOptions options{.global_batch = samples, .micro_batch = most, .non_finite = policy};
    Training<TwoSums, decltype(optimizer)> cpu(Device::cpu(), optimizer, options);
    cpu.session.accumulate(samples, [&](EagerTape& tape) { return cpu.net.loss(tape.input(x, {2})); });
    int failed = 0, lost = 0;
    for (int launches = 0; failed == launches; ++launches) {
      Training<TwoSums, decltype(optimizer)> gpu(Device::cuda(0), optimizer, options);
      gradual::cuda::twin_fails_after = launches;
      while (gpu.session.step_count() == 0) {
        const std::int64_t at = gpu.session.position(), count = std::min(most, samples - at);
        try {
          if (count == 0)
            gpu.session.flush();
          else
            gpu.session.accumulate(count, [&](EagerTape& tape) {
              return gpu.net.loss(tape.input(std::span(x).subspan(at * 2, count * 2), {2}));
            });
        } catch (const DeviceError&) {
          ++failed;
          lost += gpu.session.position() < at;
        }
      }
      expect_same(cpu.session, gpu.session);
    }
    gradual::cuda::twin_fails_after = -1;
    EXPECT_GT(failed, 30);
    EXPECT_EQ(lost > 0, policy == NonFinite::drop_window);
  }
}
#endif

TEST_P(CudaEagerSession, TrainersKeyWhatIsDroppedByTheDataSet) {
  const std::vector<float> x = numbers(40 * 9);
  const std::vector<std::int32_t> y = labels(40, 5);
  const Dataset data(x, y);
  std::vector<float> learned[2];
  for (const bool on_gpu : {false, true}) {
    Parameters parameters(on_gpu ? Device::cuda(0) : Device::cpu());
    const Dropped net(parameters.root());
    const EagerNet eager(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> of) {
      const Var values = tape.input(in, {9}), label = tape.input(of);
      return net.loss(values, label);
    });
    Trainer trainer(eager, optimizer, {.global_batch = 16, .micro_batch = 7, .seed = 3});
    trainer.fit(data, {.epochs = 2});
    learned[on_gpu].resize(static_cast<std::size_t>(parameters.offsets().back()));
    parameters.copy_to(learned[on_gpu]);
  }
  EXPECT_EQ(learned[0], learned[1]);
}

TEST_P(CudaEagerSession, OpaqueOptimizerOnTheHost) {
  const auto x = numbers(16);
  const SessionOptions options{.global_batch = 8, .freeze = {}};
  Training<SquareRoot, Accumulate<Descent>> cpu(Device::cpu(), Accumulate{Descent{}}, options),
      gpu(Device::cuda(0), Accumulate{Descent{}}, options);
  for (auto* training : {&cpu, &gpu})
    training->session.accumulate(8, [&](EagerTape& tape) { return training->net.loss(square(tape.input(x, {2}))); });
  EXPECT_EQ(gpu.session.step_count(), 1);
  EXPECT_EQ(differing_bits(cpu.session.parameter_bytes(), gpu.session.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(std::as_bytes(cpu.session.last_gradient()), std::as_bytes(gpu.session.last_gradient())), 0);
}

std::vector<std::byte> trained(const Device& device) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  Training<Classifier, decltype(optimizer)> training(device, optimizer, {.global_batch = window, .seed = 3});
  training.session.accumulate(window,
                              [&](EagerTape& tape) { return training.net.loss(tape.input(x, {9}), tape.input(y)); });
  EXPECT_GT(device.live_bytes(Category::parameters), 0);
  const auto bytes = training.session.parameter_bytes();
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

TEST_P(CudaEagerSession, SmallerPartsWhereMemoryEnds) {
  const Device large = Device::cuda(0);
  const auto expected = trained(large);
  EXPECT_EQ(large.live_bytes(), 0);
  const Device small = Device::cuda(0, large.reserved_bytes() / 2);
  EXPECT_EQ(differing_bits(expected, trained(small)), 0);
  EXPECT_LE(small.reserved_bytes(), large.reserved_bytes() / 2);
  EXPECT_THROW(trained(Device::cuda(0, 4096)), MemoryError);
  large.trim();
  EXPECT_EQ(large.reserved_bytes(), 0);
}

#if defined(GRADUAL_CUDA_TWIN)
TEST_P(CudaEagerSession, ADeviceThatIsFullOrRefusesAnyPiece) {
  std::int64_t needed = 0;
  const std::int64_t before = cuda::Memory::held(), all = cuda::twin_memory;
  const auto expected = [&] {
    const Device device = Device::cuda(0);
    const auto bytes = trained(device);
    needed = device.reserved_bytes();
    return bytes;
  }();
  cuda::twin_memory = before + needed / 2;
  EXPECT_EQ(differing_bits(expected, trained(Device::cuda(0))), 0);
  cuda::twin_memory = before + 4096;
  EXPECT_THROW(trained(Device::cuda(0)), MemoryError);
  cuda::twin_memory = all;
  int refused = 0;
  for (int n = 0;; ++n) {
    cuda::twin_refuses_after = n;
    try {
      EXPECT_EQ(differing_bits(expected, trained(Device::cuda(0))), 0) << n;
    } catch (const MemoryError&) {
      ++refused;
    }
    EXPECT_EQ(cuda::Memory::held(), before) << n;
    if (std::exchange(cuda::twin_refuses_after, -1) >= 0) break;
  }
  EXPECT_GT(refused, 5);
}
#endif

TEST_P(CudaEagerSession, RefusesThreads) {
  Parameters parameters(Device::cuda(0));
  const Classifier net(parameters.root());
  EXPECT_EQ(error_of<OptionError>([&] { Session(parameters, optimizer, {.global_batch = 2, .threads = 2}); }),
            "Session: 2 threads on cuda:0, where .threads must be 1");
}

INSTANTIATE_TEST_SUITE_P(Turns, CudaEagerSession, turns, name_of_turns);

}  // namespace eager_session_test
