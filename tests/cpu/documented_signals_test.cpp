// The filters, transforms and equations of the guide to signals, and what it says of them.
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

struct EegNet {  // of 8 electrodes over 128 steps, after Lawhern et al. 2018
  nn::Conv2d time, space, each, mixed;
  nn::GroupNorm time_norm, space_norm, mixed_norm;
  nn::Linear output;
  constexpr explicit EegNet(Scope s)
      : time(s / "time", 1, 4, {1, 33}, {.padding = {0, 16}}, {.bias = false}),
        space(s / "space", 4, 8, {8, 1}, {.groups = 4}, {.bias = false}),
        each(s / "each", 8, 8, {1, 15}, {.padding = {0, 7}, .groups = 8}, {.bias = false}),
        mixed(s / "mixed", 8, 8, 1, {}, {.bias = false}), time_norm(s / "time_norm", 4, 4), space_norm(s / "space_norm", 8, 8),
        mixed_norm(s / "mixed_norm", 8, 8), output(s / "output", 8 * 4, 3) {}
  constexpr Var predict(Var x) const {  // [batch, 8, 128]
    const Var image = reshape(x, Shape::per_sample({1, 8, 128}));
    const Var sources = elu(space_norm(space(time_norm(time(image)))));  // [8, 1, 128]
    const Var shorter = dropout(avg_pool2d(sources, {1, 4}), 0.25);      // [8, 1, 32]
    const Var patterns = elu(mixed_norm(mixed(each(shorter))));          // [8, 1, 32]
    return output(flatten(dropout(avg_pool2d(patterns, {1, 8}), 0.25)));
  }
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = predict(x);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};
using EegNetwork = Compiled<EegNet, Inputs<f32[8][128], i32>>;

TEST_F(Signals, RhythmsOfElectrodesAreToldApart) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<float> recorded;
  std::vector<std::int32_t> kinds;
  for (int i = 0; i < 240; ++i) {
    const int kind = i % 3;  // 10 Hz on the left, 20 Hz on the left, 10 Hz on the right
    const double phase = 10 * normal(random), turn = 2 * std::numbers::pi * (kind == 1 ? 20 : 10) / 128;
    for (int electrode = 0; electrode < 8; ++electrode)
      for (int step = 0; step < 128; ++step) {
        const bool has = (electrode < 4) == (kind < 2);
        recorded.push_back(static_cast<float>((has ? std::sin(phase + turn * step) : 0) + 0.6 * normal(random)));
      }
    kinds.push_back(kind);
  }
  const auto [train, test] = Dataset<float, std::int32_t>(recorded, kinds).split(0.75);
  Trainer trainer(EegNetwork{}, Accumulate{Adam{.learning_rate = 2e-2}}, {.global_batch = 10});
  trainer.fit(train, {.epochs = 6});
  EXPECT_GT(trainer.evaluate(test).metric(EegNetwork::metric("accuracy")), 0.96);
}

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

}  // namespace documented_signals_test
