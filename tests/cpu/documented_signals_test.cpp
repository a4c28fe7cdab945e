// The code of the guide to signals, and what it says of it.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "../documented.hpp"

namespace documented_signals_test {

using namespace gradual;
using C = std::complex<double>;

struct Signals : documented::Documented {};

C gaussian(std::mt19937& random, double deviation) {
  std::normal_distribution<double> normal(0, deviation);
  const double re = normal(random);
  return {re, normal(random)};
}

/// Solves m x = b by elimination; m is row-major.
std::vector<C> solved(std::vector<C> m, std::vector<C> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const C f = m[r * n + i] / m[i * n + i];
      for (std::size_t c = 0; c < n; ++c) m[r * n + c] -= f * m[i * n + c];
      b[r] -= f * b[i];
    }
  for (std::size_t i = 0; i < n; ++i) b[i] /= m[i * n + i];
  return b;
}

struct Complex {
  Var re, im;
  friend constexpr Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};
constexpr Complex complex(Var x) { return {select(x, 1, 0), select(x, 1, 1)}; }  // of [batch, 2, ...]

struct Equalizer {  // 16 taps
  Parameter re, im;
  constexpr explicit Equalizer(Scope s)
      : re(s.parameter("re", Shape{16}, init::zeros())), im(s.parameter("im", Shape{16}, init::zeros())) {}
  constexpr Var predict(Var x) const {  // [batch, 2, 16], the newest first, to [batch, 2]
    const Complex y = complex(x) * Complex{re.on(x), im.on(x)};
    return stack({sum(y.re, {1}), sum(y.im, {1})}, 1);
  }
  constexpr Loss loss(Var x, Var sent) const { return {sum(square(predict(x) - sent), {1})}; }
};
using EqualizerNet = Compiled<Equalizer, Inputs<f64[2][16], f64[2]>>;

struct Received {
  std::vector<double> x, sent;
  std::int64_t count;
  C at(std::int64_t sample, int tap) const { return {x[sample * 32 + tap], x[sample * 32 + 16 + tap]}; }
  C wanted(std::int64_t sample) const { return {sent[sample * 2], sent[sample * 2 + 1]}; }
};

/// QPSK behind a channel of four taps and with noise; what was sent six symbols ago is wanted.
Received received(std::int64_t count) {
  std::mt19937 random(1);
  std::vector<C> symbols(static_cast<std::size_t>(count) + 32), seen(symbols.size());
  for (C& s : symbols) s = C(random() & 1 ? 1 : -1, random() & 1 ? 1 : -1) / std::sqrt(2.0);
  const C channel[] = {{0.8, 0.1}, {0.4, -0.3}, {-0.2, 0.2}, {0.1, 0}};
  for (std::size_t i = 3; i < seen.size(); ++i) {
    seen[i] = gaussian(random, 0.05);
    for (std::size_t k = 0; k < 4; ++k) seen[i] += channel[k] * symbols[i - k];
  }
  Received r{{}, {}, count};
  for (std::size_t i = 32; i < seen.size(); ++i) {
    for (std::size_t k = 0; k < 16; ++k) r.x.push_back(seen[i - k].real());
    for (std::size_t k = 0; k < 16; ++k) r.x.push_back(seen[i - k].imag());
    r.sent.push_back(symbols[i - 6].real());
    r.sent.push_back(symbols[i - 6].imag());
  }
  return r;
}

TEST_F(Signals, LeastSquaresAreTheWienerFilter) {
  const Received r = received(1000);
  Trainer trainer(EqualizerNet{}, Accumulate{Lbfgs{}}, {.global_batch = r.count});
  trainer.fit(Dataset<f64, f64>::of(r.count, r.x, r.sent), {.epochs = 100});

  std::vector<C> covariance(16 * 16), correlation(16);
  for (std::int64_t i = 0; i < r.count; ++i)
    for (int a = 0; a < 16; ++a) {
      correlation[a] += std::conj(r.at(i, a)) * r.wanted(i);
      for (int b = 0; b < 16; ++b) covariance[a * 16 + b] += std::conj(r.at(i, a)) * r.at(i, b);
    }
  const std::vector<C> wiener = solved(covariance, correlation);
  const auto parameters = trainer.parameters();
  for (std::size_t k = 0; k < 16; ++k)
    EXPECT_LT(std::abs(C(parameters["re"].values[k], parameters["im"].values[k]) - wiener[k]), 1e-8) << k;
}

TEST_F(Signals, AStepForEachSampleIsTheLmsFilter) {
  const Received r = received(500);
  Session lms(EqualizerNet{}, Accumulate{Sgd{.learning_rate = 0.02}, 1}, {.global_batch = 1});
  std::vector<C> taps(16);
  for (std::int64_t i = 0; i < r.count; ++i) {
    const std::span x = std::span(r.x).subspan(i * 32, 32), sent = std::span(r.sent).subspan(i * 2, 2);
    lms.accumulate(x, sent);

    C error = -r.wanted(i);
    for (int k = 0; k < 16; ++k) error += taps[k] * r.at(i, k);
    for (int k = 0; k < 16; ++k) taps[k] -= 0.02 * 2.0 * error * std::conj(r.at(i, k));
  }
  const auto parameters = lms.parameters();
  for (std::size_t k = 0; k < 16; ++k)
    EXPECT_LT(std::abs(C(parameters["re"].values[k], parameters["im"].values[k]) - taps[k]), 1e-7) << k;
}

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

TEST_F(Signals, ACodeIsLearnedThroughNoise) {
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

/// Whose losses are uniform numbers.
struct Uniform {
  Parameter unused;
  constexpr explicit Uniform(Scope s) : unused(s.parameter("unused", Shape{}, init::zeros())) {}
  constexpr Loss loss(Var x) const {
    const Var u = 0.5 + 0.5 * erf(std::sqrt(0.5) * normal_like(x));
    return {u + unused};
  }
};

TEST_F(Signals, UniformNoiseIsMadeOfNormalNoise) {
  const std::vector<float> x(20'000);
  Session session(Compiled<Uniform, Inputs<f32>>{}, Accumulate{Sgd{}}, {.global_batch = 20'000, .evaluate_drawing = true});
  std::vector<float> drawn = session.losses(x);
  std::ranges::sort(drawn);
  for (std::size_t i = 0; i < drawn.size(); ++i)  // Kolmogorov's distance: 0.0138 once in a thousand
    EXPECT_NEAR(drawn[i], (static_cast<double>(i) + 0.5) / 20'000, 0.0138) << i;
}

constexpr Complex matmul(Complex a, Complex b) {
  return {gradual::matmul(a.re, b.re) - gradual::matmul(a.im, b.im), gradual::matmul(a.re, b.im) + gradual::matmul(a.im, b.re)};
}
constexpr Complex waves(Var x, int times, int frequencies) {  // exp(-2πi·t·f / frequencies), made once a window
  const Var each = constant_like(x, Shape{times, frequencies}, 0);
  const Var turns = convert(iota(each, 0), DType::f32) * convert(iota(each, 1), DType::f32) / frequencies;
  const Var phase = -2 * std::numbers::pi * (turns - floor(turns));
  return {cos(phase), sin(phase)};
}

struct Estimator {  // of 64 subcarriers, by 16 pilots and a channel of 6 taps
  Parameter re, im;
  constexpr explicit Estimator(Scope s)
      : re(s.parameter("re", Shape{16, 6}, init::normal(0.05))), im(s.parameter("im", Shape{16, 6}, init::normal(0.05))) {}
  constexpr Var predict(Var pilots) const {  // [batch, 2, 16] to [batch, 2, 64]
    const Complex taps = matmul(complex(pilots), Complex{re.on(pilots), im.on(pilots)});
    const Complex response = matmul(taps, waves(pilots, 6, 64));
    return stack({response.re, response.im}, 1);
  }
  constexpr Loss loss(Var pilots, Var wanted) const { return {mean(sum(square(predict(pilots) - wanted), {1}), {1})}; }
};
using EstimatorNet = Compiled<Estimator, Inputs<f32[2][16], f32[2][64]>>;

TEST_F(Signals, AnEstimatorOfChannelsComesToTheLeastError) {
  const std::int64_t count = 4000;
  const double noise = 0.1;
  double powers[6], all = 0;
  for (int l = 0; l < 6; ++l) all += powers[l] = std::exp(-0.7 * l);
  for (double& power : powers) power /= all;
  std::mt19937 random(3);
  std::vector<float> pilots, wanted;
  for (std::int64_t i = 0; i < count; ++i) {
    C response[64] = {}, seen[16];
    for (int l = 0; l < 6; ++l) {
      const C tap = gaussian(random, std::sqrt(powers[l] / 2));
      for (int f = 0; f < 64; ++f) response[f] += tap * std::polar(1.0, -2 * std::numbers::pi * f * l / 64);
    }
    for (int p = 0; p < 16; ++p) seen[p] = response[4 * p] + gaussian(random, std::sqrt(noise / 2));
    for (const C& v : seen) pilots.push_back(static_cast<float>(v.real()));
    for (const C& v : seen) pilots.push_back(static_cast<float>(v.imag()));
    for (const C& v : response) wanted.push_back(static_cast<float>(v.real()));
    for (const C& v : response) wanted.push_back(static_cast<float>(v.imag()));
  }
  const auto [train, test] = Dataset<f32, f32>::of(count, pilots, wanted).split(0.8);
  Trainer trainer(EstimatorNet{}, Accumulate{Adam{.learning_rate = schedule::cosine(1e-2, 480)}}, {.global_batch = 100});
  trainer.fit(train, {.epochs = 15});
  double least = 0;  // of linear estimators: each tap is seen with noise/16
  for (const double power : powers) least += power * noise / 16 / (power + noise / 16);
  EXPECT_NEAR(trainer.evaluate(test).loss(), least, 0.05 * least);
}

constexpr Var solve(Var m, Var b) {  // m [batch, n, n], symmetric and positive; b [batch, n, columns]
  const int n = static_cast<int>(m.shape().extent[1]);
  Var rows = concat({m, b}, 2);
  for (int i = 0; i < n; ++i) {
    const Var row = slice(rows, 1, i, 1) / slice(slice(rows, 1, i, 1), 2, i, 1);
    rows = where(iota(rows, 1) == i, row, rows - slice(rows, 2, i, 1) * row);
  }
  return slice(rows, 2, n, b.shape().extent[2]);
}

struct Detector {  // of four numbers that four antennas receive together: h is what each of them hears of each
  Parameter noise;  // the logarithm of its variance
  constexpr explicit Detector(Scope s) : noise(s.parameter("noise", Shape{}, init::constant(0))) {}
  constexpr Var predict(Var h, Var y) const {
    const Var m = matmul(h, h, true, false), seen = matmul(h, reshape(y, Shape::per_sample({4, 1})), true, false);
    return flatten(solve(m + where(iota(m, 1) == iota(m, 2), exp(noise.on(m)), 0.0), seen));
  }
  constexpr Loss loss(Var h, Var y, Var sent) const { return {mse(predict(h, y), sent)}; }
};
using DetectorNet = Compiled<Detector, Inputs<f32[4][4], f32[4], f32[4]>>;

TEST_F(Signals, ADetectorSolvesEquationsAndLearnsTheNoise) {
  const std::int64_t count = 4000;
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> h, y, sent;
  for (std::int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < 16; ++k) h.push_back(normal(random));
    for (int k = 0; k < 4; ++k) sent.push_back(normal(random));
    for (int a = 0; a < 4; ++a) {
      y.push_back(std::sqrt(0.3f) * normal(random));
      for (int b = 0; b < 4; ++b) y.back() += h[i * 16 + a * 4 + b] * sent[i * 4 + b];
    }
  }
  Trainer trainer(DetectorNet{}, Accumulate{Adam{.learning_rate = schedule::cosine(5e-2, 200)}}, {.global_batch = 200});
  const std::vector<float> got = trainer.predict(h, y);
  for (std::int64_t i = 0; i < 100; ++i) {
    std::vector<C> m(16), b(4);
    for (int r = 0; r < 4; ++r)
      for (int a = 0; a < 4; ++a) {
        b[r] += h[i * 16 + a * 4 + r] * y[i * 4 + a];
        m[r * 4 + a] += r == a ? 1 : 0;
        for (int c = 0; c < 4; ++c) m[r * 4 + c] += h[i * 16 + a * 4 + r] * h[i * 16 + a * 4 + c];
      }
    const std::vector<C> expected = solved(m, b);
    for (int r = 0; r < 4; ++r) EXPECT_NEAR(got[i * 4 + r], expected[r].real(), 1e-4) << i;
  }
  trainer.fit(Dataset<f32, f32, f32>::of(count, h, y, sent), {.epochs = 10});
  EXPECT_NEAR(std::exp(trainer.parameters()["noise"].values[0]), 0.3, 0.03);
}

struct Recognizer {  // of modulations
  nn::Conv1d first, second;
  nn::Linear output;
  constexpr explicit Recognizer(Scope s)
      : first(s / "first", 2, 12, 5, {.stride = 2}), second(s / "second", 12, 16, 5, {.stride = 2}),
        output(s / "output", 16, 3) {}
  constexpr Var predict(Var x) const {  // [batch, 64, 2], real and imaginary parts in turns, as recordings hold them
    const Var angle = 10 * normal_like(select(select(x, 2, 0), 1, 0));  // another phase in each epoch
    const Complex turn{reshape(cos(angle), Shape::per_sample({1})), reshape(sin(angle), Shape::per_sample({1}))};
    const Complex turned = complex(transpose(x, {0, 2, 1})) * turn;
    const Var series = stack({turned.re, turned.im}, 1), power = mean(square(series), {1, 2}, true);
    return output(mean(relu(second(relu(first(series / sqrt(power + 1e-9))))), {2}));
  }
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = predict(x);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};
using RecognizerNet = Compiled<Recognizer, Inputs<f32[64][2], i32>>;

TEST_F(Signals, ModulationsAreToldApart) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<std::complex<float>> recorded;
  std::vector<std::int32_t> kinds;
  for (int i = 0; i < 1200; ++i) {
    const int kind = i % 3;  // two phases, four phases, a frequency that moves
    const double phase = 10 * normal(random);
    C value;
    for (int step = 0, turn = 0; step < 64; ++step) {
      if (step % 4 == 0) turn = static_cast<int>(random() % 4), value = std::polar(1.0, std::numbers::pi / 2 * turn);
      if (kind == 0) value = std::polar(1.0, std::numbers::pi * turn);
      if (kind == 2) value = std::polar(1.0, 0.1 * turn * (step % 4) + turn);
      recorded.emplace_back(value * std::polar(1.0, phase) + gaussian(random, 0.1));
    }
    kinds.push_back(kind);
  }
  const std::span<const float> x(reinterpret_cast<const float*>(recorded.data()), 2 * recorded.size());
  const auto [train, test] = Dataset(x, kinds).split(0.75);
  Trainer trainer(RecognizerNet{}, Accumulate{Adam{.learning_rate = 5e-3}}, {.global_batch = 50});
  trainer.fit(train, {.epochs = 15});
  EXPECT_GT(trainer.evaluate(test).metric(RecognizerNet::metric("accuracy")), 0.96);
}

struct Quantizer {  // rows of a book for four numbers, and a row of another whose power is 1 in the mean
  Parameter book;
  nn::Embedding words;
  constexpr explicit Quantizer(Scope s)
      : book(s.parameter("book", Shape{32, 4}, init::normal(1))), words(s / "words", 5, 2) {}
  constexpr Var predict(Var z, Var message) const {
    const Var index = argmin(sum(square(book.on(z)), {1}) - 2 * gradual::matmul(z, book.on(z), false, true), 1);
    const Var row = gather(book, index), w = words.weight().on(z);
    return concat({z + stop_gradient(row - z), gather(w / sqrt(mean(square(w), {0, 1}, true)), message)}, 1);
  }
  constexpr Loss loss(Var z, Var message) const { return {sum(square(predict(z, message)), {1})}; }
};

TEST_F(Signals, NearestRowsOfABookAreRead) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  std::vector<float> z(50 * 4);
  for (float& v : z) v = normal(random);
  std::vector<std::int32_t> messages(50);
  for (std::size_t i = 0; i < 50; ++i) messages[i] = static_cast<std::int32_t>(i % 5);
  Session session(Compiled<Quantizer, Inputs<f32[4], i32>>{}, Accumulate{Sgd{}}, {.global_batch = 50, .seed = 1});
  const std::vector<float> got = session.predict(z, messages);
  const auto book = session.parameters()["book"].values;
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

TEST_F(Signals, ScoresOfBitsAreLogLikelihoodRatios) {
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

}  // namespace documented_signals_test
