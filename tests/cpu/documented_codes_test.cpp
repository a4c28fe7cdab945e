// The codes, soft bits and quantizers of the guide to signals, and what it says of them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "../documented.hpp"
#include "../initial_parameters.hpp"

namespace documented_codes_test {

using namespace gradual;

struct Codes : documented::Documented {};

struct Receiver {  // what is deployed where messages arrive
  nn::Linear hidden, output;
  constexpr explicit Receiver(Scope s) : hidden(s / "hidden", 7, 32), output(s / "output", 32, 16) {}
  constexpr Var predict(Var y) const { return output(relu(hidden(y))); }
};

struct Code {  // 16 messages as seven numbers, of mean power 1
  nn::Embedding words;
  Receiver receiver;
  constexpr explicit Code(Scope s) : words(s / "words", 16, 7), receiver(s) {}
  constexpr Var send(Var message) const {
    const Var word = words(message);
    return word / sqrt(mean(square(word), {1}, true) + 1e-9);
  }
  constexpr Loss loss(Var message, Var deviation, Var wanted) const {
    const Var word = send(message), noise = reshape(deviation, Shape::per_sample({1})) * normal_like(word);
    const Var scores = receiver.predict(word + noise);
    return {cross_entropy(scores, wanted), metric("errors", argmax(scores) != wanted)};
  }
};
using CodeNet = Compiled<Code, Inputs<i32, f32, i32>>;
using ReceiverNet = Compiled<Receiver, Inputs<f32[7]>>;

TEST_F(Codes, ACodeIsLearnedThroughNoise) {
  const std::int64_t count = 8000, tested = 20'000;
  const double deviation = std::sqrt(1 / (2 * 4.0 / 7 * std::pow(10.0, 0.4)));  // at Eb/N0 of 4 dB
  const auto messages = [&](std::int64_t n) {
    std::vector<std::int32_t> m(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < m.size(); ++i) m[i] = static_cast<std::int32_t>(i % 16);
    return m;
  };
  const std::vector<std::int32_t> learned = messages(count), held_back = messages(tested);
  const std::vector<float> noise(static_cast<std::size_t>(tested), static_cast<float>(deviation));
  const Dataset train(learned, std::span(noise).first(learned.size()), learned), test(held_back, noise, held_back);

  Trainer trainer(CodeNet{}, Accumulate{Adam{.learning_rate = schedule::cosine(1e-2, 800)}},
                  {.global_batch = 250, .evaluate_drawing = true});
  trainer.fit(train, {.epochs = 25});
  const double errors = trainer.evaluate(test).metric(CodeNet::metric("errors"));
  trainer.save("code.safetensors");
  Inference<ReceiverNet> receive(load("code.safetensors"));

  const auto words = trainer.parameters()["words/weight"].values;
  for (std::size_t message = 0; message < 16; ++message) {
    std::vector<float> word(words.begin() + message * 7, words.begin() + message * 7 + 7), scores(16);
    double power = 0;
    for (const float v : word) power += v * v / 7;
    for (float& v : word) v /= static_cast<float>(std::sqrt(power));
    receive(word, scores);
    EXPECT_EQ(std::ranges::max_element(scores) - scores.begin(), message);
  }

  std::mt19937 random(2);
  std::normal_distribution<double> normal(0, deviation);
  int hamming = 0;  // errors of the (7, 4) code's likeliest words
  for (int i = 0; i < tested; ++i) {
    double y[7], best = -HUGE_VAL;
    int guess = 0;
    for (double& v : y) v = 1 + normal(random);
    for (int word = 0; word < 16; ++word) {
      const int a = word & 1, b = word >> 1 & 1, c = word >> 2 & 1, d = word >> 3;
      const int bits[] = {a, b, c, d, a ^ b ^ c, a ^ b ^ d, a ^ c ^ d};
      double near = 0;
      for (int k = 0; k < 7; ++k) near += y[k] * (1 - 2 * bits[k]);
      if (near > best) best = near, guess = word;
    }
    hamming += guess != 0;
  }
  const double uncoded = 1 - std::pow(1 - 0.5 * std::erfc(std::sqrt(std::pow(10.0, 0.4))), 4);
  EXPECT_NEAR(static_cast<double>(hamming) / tested, 0.012, 0.002);
  EXPECT_NEAR(uncoded, 0.049, 0.001);
  EXPECT_NEAR(errors, 0.016, 0.002);

  Trainer silent(CodeNet{}, Accumulate{Adam{.learning_rate = schedule::cosine(1e-2, 800)}}, {.global_batch = 250});
  silent.load("code.safetensors");
  EXPECT_EQ(silent.evaluate(test).metric(CodeNet::metric("errors")), 0) << "without noise";
}

struct Quantizer {  // rows of a book for four numbers, and a row of another whose power is 1 in the mean
  Parameter book;
  nn::Embedding words;
  constexpr explicit Quantizer(Scope s)
      : book(s.parameter("book", Shape{32, 4}, init::normal(1))), words(s / "words", 5, 2) {}
  constexpr Var predict(Var z, Var message) const {
    const Var index = argmin(sum(square(book.on(z)), {1}) - 2 * matmul(z, book.on(z), false, true), 1);
    const Var row = gather(book, index), w = words.weight().on(z);
    return concat({z + stop_gradient(row - z), gather(w / sqrt(mean(square(w), {0, 1}, true)), message)}, 1);
  }
  constexpr Loss loss(Var z, Var message) const { return {sum(square(predict(z, message)), {1})}; }
};

TEST_F(Codes, NearestRowsOfABookAreRead) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  std::vector<float> z(50 * 4);
  for (float& v : z) v = normal(random);
  std::vector<std::int32_t> messages(50);
  for (std::size_t i = 0; i < 50; ++i) messages[i] = static_cast<std::int32_t>(i % 5);
  using In = Inputs<f32[4], i32>;
  using Net = Compiled<Quantizer, In>;
  static_assert(trace_training<Quantizer>(In{}).error.empty());
  std::vector<float> parameters = initial_parameters<Net>(1), got(50 * 6);
  Inference<Net>(parameters, 50)(z, messages, got);
  const auto book = ParametersView<Net>(parameters.data())["book"].values;
  double power = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    std::size_t nearest = 0;
    double least = HUGE_VAL;
    for (std::size_t row = 0; row < 32; ++row) {
      double apart = 0;
      for (std::size_t k = 0; k < 4; ++k) apart += std::pow(z[i * 4 + k] - book[row * 4 + k], 2);
      if (apart < least) least = apart, nearest = row;
    }
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(got[i * 6 + k], book[nearest * 4 + k], 1e-6) << i;
    for (std::size_t k = 4; k < 6; ++k) power += std::pow(got[i * 6 + k], 2) / 100;
  }
  EXPECT_NEAR(power, 1, 1e-5);
}

struct Demapper {  // the two bits of a place on a line of four, from what is received and the noise's deviation
  nn::Linear hidden, output;
  constexpr explicit Demapper(Scope s) : hidden(s / "hidden", 2, 24), output(s / "output", 24, 2) {}
  constexpr Var predict(Var y, Var deviation) const {
    return output(tanh(hidden(concat({y, deviation}, 1)))) / square(deviation);
  }
  constexpr Loss loss(Var y, Var deviation, Var bits) const {
    const Var scores = predict(y, deviation);
    return {bce_with_logits(scores, bits), metric("errors", mean_per_sample((scores > 0.0) != (bits > 0.5)))};
  }
};
using DemapperNet = Compiled<Demapper, Inputs<f32[1], f32[1], f32[2]>>;

TEST_F(Codes, ScoresOfBitsAreLogLikelihoodRatios) {
  constexpr double places[] = {-3, -1, 1, 3};
  constexpr int bits_of[4][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}};  // Gray's
  const std::int64_t count = 10'000;
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::vector<float> y, deviation, bits;
  for (std::int64_t i = 0; i < count; ++i) {
    const int place = static_cast<int>(random() % 4);
    deviation.push_back(static_cast<float>(0.6 + 0.4 * static_cast<double>(random() % 3)));
    y.push_back(static_cast<float>(places[place] + deviation.back() * normal(random)));
    for (const int bit : bits_of[place]) bits.push_back(static_cast<float>(bit));
  }
  const auto ratio = [&](double seen, double noise, int bit) {
    double likely[2] = {0, 0};
    for (int p = 0; p < 4; ++p)
      likely[bits_of[p][bit]] += std::exp(-(seen - places[p]) * (seen - places[p]) / (2 * noise * noise));
    return std::log(likely[1] / likely[0]);
  };
  const auto data = Dataset<f32, f32, f32>::of(count, y, deviation, bits);
  Trainer trainer(DemapperNet{}, Accumulate{Adam{.learning_rate = schedule::cosine(2e-2, 800)}}, {.global_batch = 250});
  trainer.fit(data, {.epochs = 20});
  double least = 0, errors = 0;
  for (std::int64_t i = 0; i < count; ++i)
    for (int bit = 0; bit < 2; ++bit) {
      const double exact = ratio(y[i], deviation[i], bit), sign = bits[i * 2 + bit] > 0.5 ? 1 : -1;
      least += std::log1p(std::exp(-sign * exact)) / (2.0 * count);
      errors += (exact > 0) != (sign > 0) ? 1 / (2.0 * count) : 0;
    }
  const Averages seen = trainer.evaluate(data);
  EXPECT_LT(seen.loss(), 1.02 * least);
  EXPECT_NEAR(seen.metric(DemapperNet::metric("errors")), errors, 0.002);
}

}  // namespace documented_codes_test
