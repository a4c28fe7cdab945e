// Whole training steps on the GPU, or on its host twin, against the processor's, compiled or eager: equal bits of
// everything that training changes, whatever the split of the window.
#include <algorithm>
#include <ranges>
#include <thread>

#include <gradual/cuda.hpp>

#include "cuda_test.hpp"

namespace session_test {

using namespace models;

/// Expects the bits of eager training on the processor.
template <class Net, class... Span>
void expect_eager_bits(std::int64_t samples, std::int64_t split, const Span&... data) {
  expect_equal_training<OnSeparateCuda<Net>>(Adam{.learning_rate = 0.01f}, samples, split, data...);
}

/// Expects the bits of a compiled session on the processor after two windows, on the device in micro-batches of `split`.
template <class Net, class S = float, class Rule, class... Span>
void expect_compiled_bits(const Rule& rule, std::int64_t split, const Span&... data) {
  const auto optimizer = Accumulate{rule}.template in<S>();
  Session cpu(Net{}, optimizer, {.global_batch = window, .seed = 3});
  Session cuda(OnSeparateCuda<Net>{}, optimizer, {.global_batch = window, .micro_batch = split, .seed = 3});
  for (int i = 0; i < 2; ++i) {
    cpu.accumulate(data...);
    cuda.accumulate(data...);
    EXPECT_EQ(cpu.last_window().loss(), cuda.last_window().loss());
  }
  EXPECT_EQ(cuda.step_count(), 2);
  EXPECT_EQ(differing_bits(cpu.parameter_bytes(), cuda.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(cpu.optimizer_state_bytes(), cuda.optimizer_state_bytes()), 0);
}

// Few rules, since each takes seconds to compile for each net; other tests cover the others.
constexpr Adam adam{.learning_rate = 0.01f};
constexpr ClipByGlobalNorm norms_and_products{
    ByName{Muon{.learning_rate = 0.01f}, Lamb{.learning_rate = 0.01f}, {{"output/weight"}}}, 0.5};

class CudaSession : public CudaTest {};

TEST_P(CudaSession, Classifier) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  expect_compiled_bits<ClassifierNet>(adam, window, x, y);
  expect_compiled_bits<ClassifierNet>(adam, 41, x, y);
}

TEST_P(CudaSession, LayersThatAreUsedSeveralTimes) {
  const auto x = numbers(window * 108), y = numbers(window * 2, 2);
  expect_eager_bits<SharedNet>(window, 41, x, y);
}

TEST_P(CudaSession, NormsAndProductsOfOneParameterAndANormOfAllInAnUpdate) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  expect_equal_training<OnSeparateCuda<ClassifierNet>>(norms_and_products, window, 41, x, y);
}

TEST_P(CudaSession, RowsOfSamplesOwnTables) {
  const auto x = numbers(window * 15), y = numbers(window * 2, 2);
  expect_eager_bits<EdgesNet<float>>(window, 41, x, edges(window), y);
  expect_eager_bits<EdgesNet<double>>(window, 41, numbers_in<double>(window * 15), edges(window),
                                      numbers_in<double>(window * 2));
}

/// Padded sentences, with losses that use their options.
struct Sentences {
  nn::Embedding table;
  nn::Linear output;
  constexpr explicit Sentences(Scope s) : table(s / "table", 11, 4, {.padding_idx = 0}), output(s / "output", 4, 5) {}
  constexpr Loss loss(Var words, Var label, Var tags) const {
    const Var scores = output(sum(table(words), {1}));
    const Loss chosen = cross_entropy(scores, label, 3, {.label_smoothing = 0.1});
    return Loss(chosen.value + bce_with_logits(scores, tags, lookup(iota(scores, 1), {1, 2, 3, 4, 5})))
        .weighted_by(chosen.weight);
  }
};

TEST_P(CudaSession, RulesForGroupsOfParametersOfSentences) {
  using Net = OnSeparateCuda<Compiled<Sentences, Inputs<i32[3], i32, f32[5]>>>;
  std::vector<float> tags = numbers(window * 5);
  for (float& tag : tags) tag = tag > 0 ? 1.0f : 0.0f;
  std::vector<std::int32_t> words = labels(window * 3, 11);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (i % 3 > i / 3 % 3) words[i] = 0;
  const auto label = labels(window, 5);
  expect_equal_training<Net>(ByRank{Lion{.learning_rate = 0.01}, AdamW{}}, window, 41, words, label, tags);
  expect_equal_training<Net>(ByName{Sgd{}, AdamW{}, {{"table/*"}}}, window, window, words, label, tags);
}

TEST_P(CudaSession, SecondEvaluationsAndStatesOfRowsAndColumns) {
  const auto x = numbers(window * 4), y = numbers(window * 4, 2);
  using Net = OnSeparateCuda<TiedNet>;
  constexpr auto optimizer = Accumulate{Sam{Adafactor{.learning_rate = 0.05f}}};
  Eager<Net, Accumulate<Sam<Adafactor>>> cpu(optimizer, {.global_batch = window, .seed = 3});
  Session cuda(Net{}, optimizer, {.global_batch = window, .micro_batch = 41, .seed = 3});
  for (int i = 0; i < 4; ++i) {
    cpu.accumulate(window, x, y);
    cuda.accumulate(x, y);
    EXPECT_EQ(cpu.session.again(), cuda.again());
  }
  EXPECT_EQ(cuda.step_count(), 2);
  expect_equal_bits(cuda, cpu);
}

TEST_P(CudaSession, ClassifierWithDropout) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  expect_eager_bits<DroppedNet>(window, 41, x, y);
}

TEST_P(CudaSession, ComputedWeightsReadTransposed) {
  const auto x = numbers(window * 4), y = numbers(window * 4, 2);
  expect_eager_bits<TiedNet>(window, 64, x, y);
}

/// Values computed from parameters alone come before any read of the samples, which lie in either of two places.
TEST_P(CudaSession, PartsBehindWhatIsMadeOfParametersAlone) {
  const auto x = numbers(window * 4), y = numbers(window * 4, 2);
  SessionOptions options{.global_batch = window, .micro_batch = 32, .seed = 3, .non_finite = NonFinite::drop_micro_batch};
  using Net = OnSeparateCuda<TiedNet>;
  Eager<Net, Accumulate<Adam>> cpu(Accumulate{adam}, options);
  Session cuda(Net{}, Accumulate{adam}, options);
  for (int i = 0; i < 3; ++i) {
    cpu.accumulate(window, x, y);
    cuda.accumulate(x, y);
    EXPECT_EQ(cpu.evaluate(window, x, y).loss(), cuda.evaluate(x, y).loss());
  }
  expect_equal_bits(cuda, cpu);
}

TEST_P(CudaSession, WeightedSamples) {
  const auto x = numbers(window * 4), y = numbers(window * 3, 2);
  auto weight = numbers(window, 5);
  for (float& w : weight) w = w * w;
  expect_eager_bits<WeightedNet>(window, 41, x, y, weight);
}

TEST_P(CudaSession, WindowsOfAWeight) {
  const auto x = numbers(window * 4), y = numbers(window * 3, 2);
  auto weight = numbers(window, 5);
  for (float& w : weight) w = w * w;
  const SessionOptions options{.global_batch = window, .micro_batch = 41, .seed = 3, .window_weight = 9.0};
  using Net = OnSeparateCuda<WeightedNet>;
  Eager<Net, Accumulate<Adam>> cpu(Accumulate{Adam{}}, options);
  Session cuda(Net{}, Accumulate{Adam{}}, options);
  EXPECT_EQ(cpu.accumulate(window, x, y, weight), cuda.accumulate(x, y, weight));
  EXPECT_GT(cuda.step_count(), 3);
  EXPECT_EQ(cpu.session.position(), cuda.position());
  EXPECT_EQ(cpu.session.flush(), cuda.flush());
  expect_equal_bits(cuda, cpu);
}

TEST_P(CudaSession, SeveralPositionsPerSample) {
  const auto x = numbers(window * 18), y = numbers(window * 6, 2);
  expect_eager_bits<SequenceNet>(window, 41, x, y);
}

TEST_P(CudaSession, TokensWithAttention) {
  constexpr std::int64_t some = 50;  // three closed blocks of 16 and an open one
  const auto x = labels(some * 7, 11);
  expect_eager_bits<TokensNet>(some, 21, x, x);
}

TEST_P(CudaSession, SlicesAndPaddings) {
  const auto x = numbers(window * 12);
  expect_eager_bits<PiecesNet>(window, 41, x);
}

TEST_P(CudaSession, JoinsOfManyPieces) {
  const auto x = numbers(window * 80);
  expect_eager_bits<JoinedNet<f32>>(window, 41, x);
}

TEST_P(CudaSession, Convolutions) {
  constexpr std::int64_t few = 5;  // the twin is slow
  const auto x = numbers(few * 2 * 16 * 12);
  const auto y = labels(few, 5);
  expect_eager_bits<ConvolutionalNet>(few, 2, x, y);
}

TEST_P(CudaSession, ConvolutionsInGroups) {
  constexpr std::int64_t few = 7;
  const auto x = numbers(few * 2 * 9 * 8);
  const auto y = labels(few, 5);
  expect_eager_bits<Compiled<Separable, Inputs<f32[2][9][8], i32>>>(few, 3, x, y);
}

TEST_P(CudaSession, ConvolutionsThatDifferByAxis) {
  constexpr std::int64_t few = 7;
  const auto x = numbers(few * 2 * 6 * 21);
  const auto y = labels(few, 5);
  expect_eager_bits<Compiled<Rectangular, Inputs<f32[2][6][21], i32>>>(few, 3, x, y);
}

TEST_P(CudaSession, TransposedConvolutions) {
  constexpr std::int64_t few = 7;
  const auto x = numbers(few * 7);
  const auto y = labels(few, 5);
  expect_eager_bits<Compiled<Decoder, Inputs<f32[7], i32>>>(few, 3, x, y);
}

TEST_P(CudaSession, SumsWiderThanFloat) {
  const auto image = numbers(window * 16);
  const auto token = labels(window, 7), label = labels(window, 3);
  constexpr Sgd rule{.learning_rate = 0.01f};
  expect_compiled_bits<SumsNet, Compensated<float>>(rule, 41, image, token, label);
  expect_compiled_bits<SumsNet, Compensated<bf16>>(rule, 41, image, token, label);
}

TEST_P(CudaSession, SixteenBits) {
  const auto image = numbers_in<bf16>(window * 16);
  const auto token = labels(window, 7), label = labels(window, 3);
  expect_eager_bits<NarrowNet<bf16>>(window, 41, image, token, label);
}

TEST_P(CudaSession, ParametersOfAnotherNetByName) {
  Session cpu(ClassifierNet{}, Accumulate{adam}, {.global_batch = 8, .seed = 1});
  Session cuda(OnSeparateCuda<ClassifierNet>{}, Accumulate{adam}, {.global_batch = 8, .seed = 2});
  cuda.set_parameters(cpu.parameters(), "hidden/*");
  const std::size_t hidden = 9 * 17 + 17;
  EXPECT_TRUE(std::ranges::equal(cuda.parameters().values() | std::views::take(hidden),
                                 cpu.parameters().values() | std::views::take(hidden)));
  EXPECT_NE(cuda.parameters()["output/weight"].values[0], cpu.parameters()["output/weight"].values[0]);
  cpu.set_parameters(cuda.parameters(), "*");
  EXPECT_TRUE(std::ranges::equal(cuda.parameters().values(), cpu.parameters().values()));
}

TEST_P(CudaSession, Bytes) {
  const std::vector<float> some = numbers(window * 9);
  std::vector<u8> x;
  for (const float value : some) x.push_back(static_cast<u8>(128 + 100 * value));
  const auto y = labels(window, 5);
  using Net = Compiled<Classifier, Inputs<u8[9], i32>>;
  expect_eager_bits<Net>(window, 41, x, y);
  Session cuda(OnSeparateCuda<Net>{}, Accumulate{adam}, {.global_batch = window});
  Session cpu(ClassifierNet{}, Accumulate{adam}, {.global_batch = window});
  const std::vector<float> wide(x.begin(), x.end());
  EXPECT_EQ(cuda.evaluate(x, y).loss(), cpu.evaluate(wide, y).loss());
  EXPECT_EQ(cuda.predict(x), cpu.predict(wide));
}

TEST_P(CudaSession, LossesOfSamples) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  Session cpu(ClassifierNet{}, Accumulate{adam}, {.global_batch = window});
  Session cuda(OnSeparateCuda<ClassifierNet>{}, Accumulate{adam}, {.global_batch = window, .micro_batch = 41});
  EXPECT_EQ(cuda.losses(x, y), cpu.losses(x, y));
}

TEST_P(CudaSession, Doubles) {
  const auto image = numbers_in<double>(window * 16);
  const auto token = labels(window, 7), label = labels(window, 3);
  expect_eager_bits<NarrowNet<double>>(window, 41, image, token, label);
}

#if defined(GRADUAL_CUDA_TWIN)
/// Whatever launch fails, the window restarts or goes on, also where its end has closed only some of its blocks.
TEST_P(CudaSession, GoesOnAfterAFailedLaunch) {
  constexpr std::int64_t samples = 150;  // of a window that is flushed, with a block of 128 that is closed and one that is not
  const auto x = numbers(samples * 9);
  const auto y = labels(samples, 5);
  Session cpu(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 200});
  cpu.accumulate(x, y);
  cpu.flush();
  int failed = 0, lost = 0;
  for (int launches = 0; failed == launches; ++launches) {
    Session session(OnSeparateCuda<ClassifierNet>{}, Accumulate{Sgd{}}, {.global_batch = 200, .micro_batch = 130});
    gradual::cuda::twin_fails_after = launches;
    while (session.step_count() == 0) {
      const auto at = static_cast<std::size_t>(session.position());
      try {
        if (at < samples) session.accumulate(std::span(x).subspan(at * 9), std::span(y).subspan(at));
        else session.flush();
      } catch (const DeviceError&) {
        ++failed;
        lost += at == samples && session.position() == 0;
      }
    }
    gradual::cuda::twin_fails_after = -1;
    EXPECT_EQ(differing_bits(cpu.parameter_bytes(), session.parameter_bytes()), 0) << launches;
  }
  EXPECT_GT(failed, 10);
  EXPECT_GT(lost, 0) << "by a flush";
}

TEST_P(CudaSession, LeavesWhatIsFrozenWhereAnUpdateFails) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  int failed = 0;
  for (int launches = 0; failed == launches; ++launches) {
    Session session(OnSeparateCuda<ClassifierNet>{}, Accumulate{norms_and_products},
                    {.global_batch = window, .freeze = {"hidden/*"}});
    const auto before = session.parameters();
    gradual::cuda::twin_fails_after = launches;
    try {
      session.accumulate(x, y);
      session.wait();
    } catch (const DeviceError&) {
      ++failed;
    }
    gradual::cuda::twin_fails_after = -1;
    for (const char* name : {"hidden/weight", "hidden/bias"}) {
      const auto after = session.parameters();
      EXPECT_TRUE(std::ranges::equal(before[name].values, after[name].values)) << name << " after " << launches;
    }
  }
  EXPECT_GT(failed, 10);
}
#endif

#if !defined(GRADUAL_CUDA_TWIN)
/// A synchronisation by another thread breaks a capture; work of kernels alone is recorded without one.
TEST_P(CudaSession, BesideAThreadThatWaitsForTheDevice) {
  const std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) cudaDeviceSynchronize();
  });
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  for (int i = 0; i < 20; ++i) expect_compiled_bits<ClassifierNet>(adam, 41, x, y);
}
#endif

TEST_P(CudaSession, OpaqueOptimizerOnTheHost) {
  const auto x = numbers(2 * window * 9);
  const auto y = labels(2 * window, 5);
  Session expected(ClassifierNet{}, Accumulate{Sgd{.learning_rate = 0.125f}},
                   {.global_batch = window, .seed = 3, .freeze = {"output/bias"}});
  Session session(OnSeparateCuda<ClassifierNet>{}, Accumulate{Descent{}},
                  {.global_batch = window, .micro_batch = 41, .seed = 3, .freeze = {"output/bias"}});
  expected.accumulate(x, y);
  session.accumulate(x, y);
  EXPECT_EQ(session.optimizer().calls, 2);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), expected.parameter_bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(Turns, CudaSession, turns, name_of_turns);

}  // namespace session_test
