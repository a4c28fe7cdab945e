// Losses, gradients and samples that are not finite, on the GPU or on its host twin: they are dropped where the processor
// drops them, whenever the host learns of them.
#include <limits>

#include <gradual/cuda.hpp>

#include "cuda_test.hpp"

namespace non_finite_test {

using namespace models;

class CudaNonFinite : public CudaTest {};

TEST_P(CudaNonFinite, DropsWhatIsNotFiniteAndHalvesTheScale) {
  const std::vector<float> x = samples_with_a_zero();
  for (const NonFinite policy : {NonFinite::drop_window, NonFinite::drop_micro_batch}) {
    const SessionOptions options{.global_batch = 8, .micro_batch = 3, .non_finite = policy, .noise_batch = 4};
    Session cuda(Compiled<SquareRoot, Inputs<f32[2]>, Cuda>{}, Accumulate{LossScale{Sgd{}}}, options);
    Session cpu(Compiled<SquareRoot, Inputs<f32[2]>>{}, Accumulate{LossScale{Sgd{}}}, options);
    EXPECT_EQ(cuda.accumulate(x), cpu.accumulate(x));
    EXPECT_EQ(cuda.step_count(), policy == NonFinite::drop_window ? 2 : 3);
    EXPECT_EQ(cuda.dropped_windows() + cuda.dropped_micro_batches(), 1);
    EXPECT_EQ(cuda.loss_scale(), 32768);
    EXPECT_EQ(cuda.gradient_noise().windows, 1);
    EXPECT_EQ(cuda.gradient_noise().variance, cpu.gradient_noise().variance);
    EXPECT_EQ(differing_bits(cpu.parameter_bytes(), cuda.parameter_bytes()), 0);
  }
}

/// A model whose loss may be infinite while its gradients are finite.
struct Shifted {
  nn::Linear layer;
  constexpr explicit Shifted(Scope s) : layer(s / "layer", 3, 1) {}
  constexpr Loss loss(Var x, Var shift) const { return Loss(sum(layer(x), {-1}) + sum(log(shift), {-1})); }
};

/// The step is launched before the host knows the losses: the device checks those of all parts, and no others.
TEST_P(CudaNonFinite, DropsAWindowOfAnInfiniteLoss) {
  using Net = Compiled<Shifted, Inputs<f32[3], f32[1]>>;
  const auto x = numbers(window * 3);
  const std::vector<float> good(static_cast<std::size_t>(window), 2.0f);
  std::vector<float> bad = good;
  bad[1] = 0;  // in the first of several parts
  Session cpu(Net{}, Accumulate{Sgd{}}, {.global_batch = window, .seed = 3});
  Session cuda(OnSeparateCuda<Net>{}, Accumulate{Sgd{}}, {.global_batch = window, .micro_batch = 41, .seed = 3});
  const auto train = [&](auto& session) {
    session.accumulate(x, bad);
    EXPECT_EQ(session.dropped_windows(), 1);
    session.accumulate(x, good);
    session.accumulate(std::span(x).first(3 * 50), std::span(good).first(50));
    EXPECT_EQ(session.evaluate(x, bad).loss(), -std::numeric_limits<double>::infinity());
    session.accumulate(std::span(x).subspan(3 * 50), std::span(good).subspan(50));
    EXPECT_EQ(session.step_count(), 2);
  };
  train(cpu);
  train(cuda);
  EXPECT_EQ(differing_bits(cpu.parameter_bytes(), cuda.parameter_bytes()), 0);
}

/// Where the device has not checked all losses of a window, the host does so before it launches the step.
TEST_P(CudaNonFinite, DropsAWindowOfAnInfiniteLossThatTheHostKnows) {
  using Net = Compiled<Shifted, Inputs<f32[3], f32[1]>>;
  constexpr std::int64_t some = 64;
  const auto x = numbers(some * 3);
  const std::vector<float> good(some, 2.0f);
  std::vector<float> bad = good;
  bad[1] = 0;
  const auto half = [&](const std::vector<float>& all, int width, int which) {
    const auto count = static_cast<std::size_t>(width * some / 2);
    return std::span(all).subspan(static_cast<std::size_t>(which) * count, count);
  };
  const auto train = [&]<class Of>(Of of) {
    const SessionOptions options{.global_batch = some, .micro_batch = 32, .seed = 3};
    SessionOptions by_weight = options;
    by_weight.window_weight = double{some};
    Session weighed(of, Accumulate{Sgd{}}, by_weight);
    weighed.accumulate(x, bad);
    EXPECT_EQ(weighed.dropped_windows(), 1);

    Session begun(of, Accumulate{Sgd{}}, options), other(of, Accumulate{Sgd{}}, options);
    begun.accumulate(half(x, 3, 0), half(bad, 1, 0));
    const Checkpoint within = begun.state();
    other.accumulate(half(x, 3, 0), half(good, 1, 0));
    const Checkpoint clean = other.state();
    other.restore(within);
    other.accumulate(half(x, 3, 1), half(good, 1, 1));
    EXPECT_EQ(other.step_count(), 0);
    begun.accumulate(half(x, 3, 1), half(good, 1, 1));
    EXPECT_EQ(begun.step_count(), 0);
    begun.restore(clean);
    begun.accumulate(half(x, 3, 1), half(good, 1, 1));
    EXPECT_EQ(begun.step_count(), 1);
  };
  train(Net{});
  train(OnSeparateCuda<Net>{});
}

#if defined(GRADUAL_CUDA_TWIN)
TEST_P(CudaNonFinite, KnowsOfAnInfiniteLossAlsoAfterALaunchThatFailed) {
  const auto x = numbers(window * 3);
  const std::vector<float> good(static_cast<std::size_t>(window), 2.0f);
  std::vector<float> bad = good;
  bad[1] = 0;
  Session session(OnSeparateCuda<Compiled<Shifted, Inputs<f32[3], f32[1]>>>{}, Accumulate{Sgd{}},
                  {.global_batch = window, .micro_batch = 64, .seed = 3});
  session.accumulate(std::span(x).first(3 * 64), std::span(bad).first(64));
  cuda::twin_fails_after = 0;
  EXPECT_THROW(session.evaluate(x, good), DeviceError);
  session.accumulate(std::span(x).subspan(3 * 64), std::span(good).subspan(64));
  EXPECT_EQ(session.step_count(), 0);
  EXPECT_EQ(session.dropped_windows(), 1);
}
#endif

TEST_P(CudaNonFinite, RefusesSamplesThatAreOnTheirWay) {
  auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  Session session(OnSeparateCuda<ClassifierNet>{}, Accumulate{Adam{}}, {.global_batch = window, .seed = 3});
  Session other(OnSeparateCuda<ClassifierNet>{}, Accumulate{Adam{}}, {.global_batch = window, .seed = 3});
  std::swap(x[100], x[0]), x[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(session.accumulate(x, y), DataError);
  x[100] = 1;
  session.accumulate(x, y);
  other.accumulate(x, y);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), other.parameter_bytes()), 0);
}

TEST_P(CudaNonFinite, AGradientOfWhatIsFrozenDropsNoWindow) {
  const std::vector<float> x = {1, 2, 3, 4, 0, 1, 2, 3};  // the slope of the root at 0 is infinite
  const SessionOptions options{.global_batch = 4, .freeze = {"weight"}};
  constexpr auto optimizer = Accumulate{Ema{Adam{}, 0.9}};
  Session cuda(Compiled<SquareRoot, Inputs<f32[2]>, Cuda>{}, optimizer, options);
  Session cpu(Compiled<SquareRoot, Inputs<f32[2]>>{}, optimizer, options);
  EXPECT_EQ(cuda.accumulate(x), 1);
  EXPECT_EQ(cpu.accumulate(x), 1);
  EXPECT_EQ(differing_bits(cpu.parameter_bytes(), cuda.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(cpu.optimizer_state_bytes(), cuda.optimizer_state_bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(Turns, CudaNonFinite, turns, name_of_turns);

}  // namespace non_finite_test
