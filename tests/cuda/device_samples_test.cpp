// Samples in device memory or pinned memory: sessions, trainers and inferences learn and predict the same bits from them,
// and refuse the same ones with the same messages.
#include <limits>
#include <numeric>

#include <gradual/cuda.hpp>

#include "../error_of.hpp"
#include "cuda_test.hpp"

namespace device_samples_test {

using namespace models;

using Net = On<ClassifierNet, Cuda>;
constexpr int width = 9, classes = 5;

struct HalfInputs {
  nn::Linear output;
  constexpr explicit HalfInputs(Scope s) : output(s / "output", 8, classes) {}
  constexpr Loss loss(Var x, Var label) const { return cross_entropy(output(convert(x, DType::f32)), label); }
};

class DeviceSamples : public CudaTest {};

#if defined(__CUDACC__)
/// Copies after some milliseconds, so that premature reads of `to` show.
__global__ void fill_late(float* to, const float* from, std::int64_t count) {
  for (const long long begin = clock64(); clock64() - begin < 20'000'000;) {}
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
}
#endif

/// The same samples on the host ("here") and on the device ("there").
struct Samples {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  OnDevice<float> there_x{x};
  OnDevice<std::int32_t> there_y{y};
  explicit Samples(std::int64_t count) : x(numbers(count * width)), y(labels(count, classes)) {}
  DatasetOf<Net::InputTypes> here() const { return DatasetOf<Net::InputTypes>(x, y); }
  DatasetOf<Net::InputTypes> there() const { return DatasetOf<Net::InputTypes>(there_x.span(), there_y.span()); }
};

/// Few samples, which kernels would fetch from the host, and many. They may be changed as soon as the call returns.
TEST_P(DeviceSamples, AreLearnedFromToTheSameBits) {
  for (const std::int64_t batch : {150, 5000}) {
    const Samples samples(batch);
    const auto& [x, y, there_x, there_y] = samples;
    const SessionOptions options{.global_batch = batch, .micro_batch = batch / 3, .seed = 3};
    Session expected(ClassifierNet{}, Accumulate{Adam{}}, options);
    Session session(Net{}, Accumulate{Adam{}}, options);
    for (int i = 0; i < 5; ++i) {
      expected.accumulate(x, y);
      switch (i) {
        case 0: session.accumulate(x, y); break;
        case 1: session.accumulate(there_x.span(), there_y.span()); break;
        case 2: session.accumulate(x, there_y.span()); break;
        default: session.accumulate(there_x.span(), y);
      }
      there_x.write(std::vector<float>(x.size(), 9.0f));
      there_x.write(x);
    }
    EXPECT_EQ(expected.last_window().loss(), session.last_window().loss());
    EXPECT_EQ(expected.evaluate(x, y).loss(), session.evaluate(there_x.span(), there_y.span()).loss());
    EXPECT_EQ(differing_bits(expected.parameter_bytes(), session.parameter_bytes()), 0) << batch;
  }
}

/// While earlier kernels are still running.
TEST_P(DeviceSamples, ParametersMayBeChangedAsSoonAsTheyWereGiven) {
  const Samples samples(300);
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 300});
  const auto values = numbers(Net::parameter_elements);
  const OnDevice given(values);
  session.accumulate(samples.x, samples.y);
  session.set_parameters(given.span());
  given.write(std::vector<float>(values.size(), 9.0f));
  const auto taken = session.parameter_bytes();
  EXPECT_EQ(differing_bits(std::as_bytes(std::span(values)), std::span(taken).first(values.size() * sizeof(float))), 0);
}

/// So many that a GPU, unlike the twin, copies them directly. They may be changed as soon as the call returns.
TEST_P(DeviceSamples, MayComeFromPinnedMemory) {
#if defined(GRADUAL_CUDA_TWIN)
  constexpr std::int64_t batch = 512;
#else
  constexpr std::int64_t batch = 14'592;  // half of it takes 256 KiB
#endif
  const auto x = numbers(batch * width);
  const auto y = labels(batch, classes);
  const cuda::Pinned memory(std::ssize(x) * std::int64_t{sizeof(float)});
  const std::span<float> pinned(reinterpret_cast<float*>(memory.data()), x.size());
  Session expected(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = batch, .seed = 3});
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .micro_batch = batch / 2, .seed = 3});
  for (int i = 0; i < 2; ++i) {
    expected.accumulate(x, y);
    std::ranges::copy(x, pinned.begin());
    session.accumulate(pinned, y);
    std::ranges::fill(pinned, -1.0f);
  }
  EXPECT_EQ(differing_bits(expected.parameter_bytes(), session.parameter_bytes()), 0);
}

TEST_P(DeviceSamples, AreRefusedInTheSameWords) {
  constexpr std::int64_t batch = 300;
  auto x = numbers(batch * width);
  auto y = labels(batch, classes);
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .micro_batch = 100});
  const auto before = session.parameter_bytes();
  const auto refuses = [&] {
    const OnDevice there_x(x);
    const OnDevice there_y(y);
    const std::string words = error_of<Error>([&] { session.accumulate(x, y); });
    EXPECT_EQ(error_of<Error>([&] { session.accumulate(there_x.span(), there_y.span()); }), words);
    EXPECT_EQ(error_of<Error>([&] { session.evaluate(there_x.span(), there_y.span()); }), words);
    return words;
  };
  x[250 * width + 2] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refuses(), "input 0, sample 250: value 2 is infinite");
  x[250 * width + 2] = 0;
  y[299] = classes;
  EXPECT_EQ(refuses(), "input 1, sample 299: label 5 is outside the 5 classes 0 to 4");
  EXPECT_EQ(session.position(), 0);
  EXPECT_EQ(differing_bits(before, session.parameter_bytes()), 0);
  y[299] = 0;
  EXPECT_EQ(refuses(), "accepted");
  EXPECT_EQ(session.step_count(), 2);
}

/// Two columns of one input, each with the indices of its own table.
struct Columns {
  nn::Embedding wide, narrow;
  constexpr explicit Columns(Scope s) : wide(s / "wide", 7, classes), narrow(s / "narrow", 3, classes) {}
  constexpr Loss loss(Var columns, Var label) const {
    return cross_entropy(wide(select(columns, 1, 0)) + narrow(select(columns, 1, 1)), label);
  }
};
using ColumnsNet = Compiled<Columns, Inputs<i32[2], i32>, Cuda>;

TEST_P(DeviceSamples, AreLookedAtByTheirColumns) {
  constexpr std::int64_t batch = 300;
  auto x = labels(2 * batch, 3);
  const auto y = labels(batch, classes);
  x[2 * 7] = 6;
  const OnDevice there_y(y);
  Eager<ColumnsNet, Accumulate<Sgd>> expected(Accumulate{Sgd{}}, {.global_batch = batch});
  Session session(ColumnsNet{}, Accumulate{Sgd{}}, {.global_batch = batch, .micro_batch = 100});
  expected.accumulate(batch, x, y);
  session.accumulate(OnDevice(x).span(), there_y.span());
  expect_equal_bits(session, expected);
  x[2 * 211 + 1] = 6;
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate(OnDevice(x).span(), there_y.span()); }),
            "input 0, sample 211: index 1 is 6, outside the table's 3 rows 0 to 2");
}

/// Bad samples on the device and on the host, then on the host alone, then none: no check of samples outlives its call.
TEST_P(DeviceSamples, AreNotLookedAtBehindACall) {
  auto x = numbers(300 * width);
  auto y = labels(300, classes);
  const OnDevice good(x);
  x[250 * width] = std::numeric_limits<float>::quiet_NaN();
  const OnDevice bad(x);
  y[3] = classes;
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 300});
  EXPECT_EQ(error_of<Error>([&] { session.accumulate(bad.span(), y); }), "input 0, sample 250: value 0 is NaN");
  EXPECT_EQ(error_of<Error>([&] { session.accumulate(good.span(), y); }),
            "input 1, sample 3: label 5 is outside the 5 classes 0 to 4");
  y[3] = 0;
  EXPECT_EQ(session.accumulate(good.span(), y), 1);
}

TEST_P(DeviceSamples, AreNoneOfAnEagerTape) {
  const OnDevice x(numbers(20 * width));
  EagerTape tape(Device::cuda(0), 20);
  EXPECT_EQ(error_of<DataError>([&] { tape.input(x.span(), {width}); }),
            "input 0 lies in the memory of cuda:0, but an eager tape reads samples from host memory");
}

#if defined(__CUDACC__)
/// Samples are read after all work that was queued on the default stream.
TEST_P(DeviceSamples, AreThoseThatTheDefaultStreamLeaves) {
  const Samples samples(60);
  const std::vector<float> infinite(samples.x.size(), std::numeric_limits<float>::infinity());
  const OnDevice late(infinite), values(samples.x);
  const auto fill = [&] {
    late.write(infinite);
    fill_late<<<1, 1>>>(const_cast<float*>(late.span().data()), values.span().data(), std::ssize(samples.x));
  };
  const SessionOptions options{.global_batch = 60, .micro_batch = 20, .seed = 3};
  Session expected(ClassifierNet{}, Accumulate{Adam{}}, options);
  Session session(Net{}, Accumulate{Adam{}}, options);
  for (int i = 0; i < 3; ++i) {
    expected.accumulate(samples.x, samples.y);
    fill();
    session.accumulate(late.span(), samples.there_y.span());
  }
  fill();
  EXPECT_EQ(session.evaluate(late.span(), samples.there_y.span()).loss(), expected.evaluate(samples.x, samples.y).loss());
  fill();
  EXPECT_EQ(session.predict(late.span()), expected.predict(samples.x));
  EXPECT_EQ(differing_bits(expected.parameter_bytes(), session.parameter_bytes()), 0);
}
#endif

#if defined(GRADUAL_CUDA_TWIN)  // whose device can be told to fail once
/// A fetch from the host that a failed launch left pending does not overwrite samples from the device.
TEST_P(DeviceSamples, AreReadBehindALaunchThatHasFailed) {
  const Samples samples(60);
  const std::vector<float> others = numbers(60 * width, 8);
  const SessionOptions options{.global_batch = 60, .seed = 3};
  Session expected(ClassifierNet{}, Accumulate{Adam{}}, options);
  Session session(Net{}, Accumulate{Adam{}}, options);
  for (int i = 0; i < 3; ++i) {
    expected.accumulate(others, samples.y);
    session.accumulate(others, samples.y);
  }
  cuda::twin_fails_after = 0;
  EXPECT_THROW(session.accumulate(others, samples.y), DeviceError);
  cuda::twin_fails_after = -1;
  session.discard();
  for (int i = 0; i < 3; ++i) {
    expected.accumulate(samples.x, samples.y);
    session.accumulate(samples.there_x.span(), samples.there_y.span());
  }
  EXPECT_EQ(differing_bits(expected.parameter_bytes(), session.parameter_bytes()), 0);
}
#endif

TEST_P(DeviceSamples, TrainersTakeThem) {
  const Samples samples(200);
  const DatasetOf<Net::InputTypes> here = samples.here(), mixed(samples.x, samples.there_y.span());
  const auto learned_from = [&](const auto& data) {
    Trainer trainer(Net{}, Accumulate{Adam{}}, {.global_batch = 64, .micro_batch = 30, .seed = 3});
    trainer.fit(data, {.epochs = 2, .validate = data, .progress = Progress::never});
    EXPECT_EQ(trainer.evaluate(data).loss(), trainer.evaluate(here).loss());
    const auto bytes = trainer.session().parameter_bytes();
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const auto expected = learned_from(here);
  EXPECT_EQ(differing_bits(expected, learned_from(samples.there())), 0);
  EXPECT_EQ(differing_bits(expected, learned_from(mixed)), 0);
}

/// They may be changed once a fit has ended, however it ended.
TEST_P(DeviceSamples, NobodyReadsThemBehindAFit) {
  const Samples samples(64);
  const auto learned_from = [&](const DatasetOf<Net::InputTypes>& data) {
    Trainer trainer(Net{}, Accumulate{Adam{}}, {.global_batch = 64, .micro_batch = 16, .seed = 3});
    trainer.fit(data, {.epochs = 1, .progress = Progress::never, .on_micro_batch = [&](const auto&...) { trainer.stop(); }});
    samples.there_x.write(std::vector<float>(samples.x.size(), 9.0f));
    trainer.session().flush();
    samples.there_x.write(samples.x);
    return trainer.session().parameter_bytes();
  };
  EXPECT_EQ(differing_bits(learned_from(samples.here()), learned_from(samples.there())), 0);
}

/// Rows of 16 bytes, which are gathered in one access, and the same from an odd element on.
TEST_P(DeviceSamples, TrainersTakeHalvesOfWords) {
  using Half = Compiled<HalfInputs, Inputs<f16[8], i32>, Cuda>;
  constexpr std::int64_t samples = 20;
  std::vector<f16> x(samples * 8 + 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = f16(static_cast<float>(i % 7));
  const auto y = labels(samples, classes);
  const OnDevice there_x(x);
  const auto learned_from = [&](std::span<const f16> images) {
    Trainer trainer(Half{}, Accumulate{Sgd{}}, {.global_batch = 8, .seed = 3});
    trainer.fit(DatasetOf<Half::InputTypes>(images, y), {.epochs = 1, .progress = Progress::never});
    return trainer.session().parameter_bytes();
  };
  for (const std::size_t first : {0, 1}) {
    const auto here = std::span<const f16>(x).subspan(first, samples * 8), there = there_x.span().subspan(first, samples * 8);
    EXPECT_EQ(differing_bits(learned_from(here), learned_from(there)), 0) << first;
  }
}

/// Rows of an odd number of bytes.
TEST_P(DeviceSamples, TrainersTakeBytes) {
  using Bytes = Compiled<Classifier, Inputs<u8[width], i32>, Cuda>;
  constexpr std::int64_t samples = 20;
  std::vector<u8> x(samples * width);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<u8>(i * 29);
  const auto y = labels(samples, classes);
  const OnDevice there_x(x);
  const auto learned_from = [&](std::span<const u8> images) {
    Trainer trainer(Bytes{}, Accumulate{Sgd{.learning_rate = 1e-4f}}, {.global_batch = 8, .seed = 3});
    trainer.fit(DatasetOf<Bytes::InputTypes>(images, y), {.epochs = 1, .progress = Progress::never});
    trainer.session().accumulate(images.first(8 * width), std::span(y).first(8));
    return trainer.session().parameter_bytes();
  };
  EXPECT_EQ(differing_bits(learned_from(x), learned_from(there_x.span())), 0);
}

TEST_P(DeviceSamples, RowsOfThemAreATrainersAlone) {
  const OnDevice x(numbers(20 * width));
  const OnDevice y(labels(20, classes));
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 8, .gather = true});
  const std::vector<std::int32_t> rows{3, 1};
  std::int64_t taken = 0;
  EXPECT_EQ(error_of<Error>([&] { session.accumulate_rows(rows, 0, false, taken, x.span(), y.span()); }),
            "accumulate_rows: the samples are on the device: give them to accumulate, or to a trainer's fit");
  EXPECT_EQ(taken, 0);
}

TEST_P(DeviceSamples, InferencesTakeThem) {
  constexpr std::int64_t samples = 70;
  auto x = numbers(samples * width);
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 8});
  Inference<Net> inference(session.parameters().values(), 32);
  std::vector<float> expected(samples * classes), out(samples * classes);
  const OnDevice there(x);
  inference(x, expected);
  inference(there.span(), out);
  EXPECT_EQ(out, expected);
  const auto parameters = session.parameters();
  std::vector<float> weights(parameters.values().begin(), parameters.values().end());
  const OnDevice weights_there(weights);
  inference.set_parameters(weights_there.span());
  inference(x, out);
  EXPECT_EQ(out, expected);
  weights[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of<Error>([&] { inference.set_parameters(weights); }),
            "inference: element 1 of parameter 'hidden/weight' is not a number");
  x[69 * width] = std::numeric_limits<float>::quiet_NaN();
  there.write(x);
  EXPECT_EQ(error_of<Error>([&] { inference(there.span(), out); }), "input 0, sample 69: value 0 is NaN");
}

INSTANTIATE_TEST_SUITE_P(Turns, DeviceSamples, turns, name_of_turns);

}  // namespace device_samples_test
