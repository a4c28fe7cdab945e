// Inputs of bytes: the bits of the same numbers as floats, compiled and eager, in a quarter of the memory that inputs take.
#include <gtest/gtest.h>

#include <gradual/check/test_model.hpp>

#include "../error_of.hpp"
#include "../models.hpp"

namespace bytes_test {

using namespace models;

/// Images that are scaled, in a net that reads them in several ways.
struct Scaled {
  Narrow net;
  constexpr explicit Scaled(Scope s) : net(s) {}
  constexpr Var predict(Var image, Var token) const { return net.predict(image / 255.0, token); }
  constexpr Loss loss(Var image, Var token, Var label) const { return net.loss(image / 255.0, token, label); }
};
template <class E>
using ImageNet = Compiled<Scaled, Inputs<E[1][4][4], i32, i32>>;
/// A net whose first product reads them unscaled.
template <class E>
using PlainNet = Compiled<Classifier, Inputs<E[9], i32>>;

/// Returns bytes of all values, in no particular order.
std::vector<u8> bytes(std::int64_t count) {
  std::vector<u8> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<u8>(i * 167 + i / 256);
  return result;
}
std::vector<float> floats(const std::vector<u8>& values) { return {values.begin(), values.end()}; }

constexpr auto optimizer = Accumulate{Adam{.learning_rate = 0.01f}};
constexpr SessionOptions options{.global_batch = 150, .micro_batch = 41, .seed = 3};

TEST(Bytes, AreLearnedFromToTheBitsOfFloats) {
  const std::vector<u8> image = bytes(300 * 16);
  const std::vector<float> wide = floats(image);
  const auto token = labels(300, 7), label = labels(300, 3);
  Session session(ImageNet<u8>{}, optimizer, options);
  Session expected(ImageNet<f32>{}, optimizer, options);
  EXPECT_EQ(session.accumulate(image, token, label), expected.accumulate(wide, token, label));
  EXPECT_EQ(session.step_count(), 2);
  EXPECT_EQ(session.last_window().loss(), expected.last_window().loss());
  EXPECT_EQ(differing_bits(session.parameter_bytes(), expected.parameter_bytes()), 0);
  EXPECT_EQ(session.evaluate(image, token, label).loss(), expected.evaluate(wide, token, label).loss());
  const std::vector<float> scores = expected.predict(wide, token);
  EXPECT_EQ(session.predict(image, token), scores);
  std::vector<float> out(scores.size());
  Inference<ImageNet<u8>>(session.parameters(), 32)(image, token, out);
  EXPECT_EQ(out, scores);
}

TEST(Bytes, AreGatheredByTrainers) {
  const std::vector<u8> image = bytes(100 * 9);
  const std::vector<float> wide = floats(image);
  const auto label = labels(100, 5);
  Trainer trainer(PlainNet<u8>{}, optimizer, {.global_batch = 32, .memory_budget = 32_KiB, .seed = 3});
  Trainer expected(PlainNet<f32>{}, optimizer, {.global_batch = 32, .memory_budget = 32_KiB, .seed = 3});
  trainer.fit(Dataset(image, label), {.epochs = 2, .progress = Progress::never});
  expected.fit(Dataset(wide, label), {.epochs = 2, .progress = Progress::never});
  EXPECT_EQ(differing_bits(trainer.session().parameter_bytes(), expected.session().parameter_bytes()), 0);
  EXPECT_EQ(trainer.predict(image), expected.predict(wide));
}

TEST(Bytes, AreLearnedFromEagerly) {
  const std::vector<u8> image = bytes(100 * 9);
  const std::vector<float> wide = floats(image);
  const auto label = labels(100, 5);
  const auto learned_from = [&](const auto& images) {
    using E = typename std::remove_cvref_t<decltype(images)>::value_type;
    Parameters parameters(Device::cpu());
    const Classifier model(parameters.root());
    EagerNet net(parameters, [&](EagerTape& tape, std::span<const E> x, std::span<const i32> y) {
      return model.loss(tape.input(x, {9}), tape.input(y));
    });
    Trainer trainer(net, optimizer, {.global_batch = 32, .micro_batch = 7, .seed = 3});
    trainer.fit(Dataset(images, label), {.epochs = 2, .progress = Progress::never});
    trainer.session().accumulate(100, [&](EagerTape& tape) {  // called for parts of the data
      return model.loss(tape.input(images, {9}), tape.input(label));
    });
    const auto values = trainer.session().parameters().values();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(learned_from(image), learned_from(wide));
  EagerTape tape(Device::cpu(), 2);
  EXPECT_EQ(error_of<DataError>([&] { tape.input(image, {9}); }),
            "input 0, as recorded: 900 values do not make 2 samples of shape [9]");
  const Var x = tape.input(std::span(image).first(18), {9});
  EXPECT_EQ(x.dtype(), DType::f32);
  EXPECT_EQ(error_of<TypeError>([&] { convert(x, DType::u8); }), "convert: float cannot be converted to uint8");
}

struct Mixed {
  nn::Linear layer;
  constexpr explicit Mixed(Scope s) : layer(s / "layer", 3, 1) {}
  constexpr Loss loss(Var x, Var y) const { return mse(layer(convert(x, DType::f64)), y); }
};

TEST(Bytes, AreFloatsBesideDoubles) {
  const std::vector<u8> x = bytes(20 * 3);
  const auto y = numbers_in<double>(20);
  Session session(Compiled<Mixed, Inputs<u8[3], f64[1]>>{}, optimizer, {.global_batch = 20});
  Session expected(Compiled<Mixed, Inputs<f32[3], f64[1]>>{}, optimizer, {.global_batch = 20});
  session.accumulate(x, y);
  expected.accumulate(floats(x), y);
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), expected.parameter_bytes()), 0);
}

TEST(Bytes, HaveTheDerivativesOfTheModel) {
  const Session session(ImageNet<u8>{}, optimizer, options);
  const auto parameters = session.parameters();
  const auto check =
      test_model(ImageNet<u8>{}, parameters.values(), bytes(4 * 16), labels(4, 7), labels(4, 3));
  EXPECT_TRUE(check.mistakes.empty()) << check;
}

TEST(Bytes, AreCountedAsSuch) {
  using Net = ImageNet<u8>;
  const std::vector<u8> image = bytes(4 * 16);
  Session session(Net{}, optimizer, {.global_batch = 4});
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate(std::span(image).first(40), labels(3, 7), labels(3, 3)); }),
            "input 0: 40 values are not whole samples of 16");
}

template <class E>
constexpr std::int64_t staged = ImageNet<E>::training_memory(optimizer, 1024, {.gather = true}).inputs;
static_assert(staged<f32> - staged<u8> == 1024 * 16 * 3);

}  // namespace bytes_test
