// The code of docs/guides/monitoring.md: sensors that are stuck raise alarms, those that are missing do not; a spectrum beside
// its sums.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "../documented.hpp"
#include "../initial_parameters.hpp"

namespace documented_monitoring_test {

using namespace documented;

struct Sensors {  // known is 1 where a sensor gave a value, and 0, beside a value of 0, where it did not
  nn::Linear wide, few, back, output;
  constexpr explicit Sensors(Scope s)
      : wide(s / "wide", 16, 24), few(s / "few", 24, 2), back(s / "back", 2, 24), output(s / "output", 24, 8) {}
  constexpr Var predict(Var x, Var known) const {
    const Var seen = dropout(known, 0.1) != 0.0;  // in training a tenth is hidden, and found from the others
    return output(tanh(back(few(tanh(wide(concat({x * seen, seen}, 1)))))));
  }
  constexpr Loss loss(Var x, Var known) const {
    return {sum(square(predict(x, known) - x) * known, {1}) / maximum(sum(known, {1}), 1.0)};
  }
};
using SensorsNet = Compiled<Sensors, Inputs<f32[8], f32[8]>>;

struct Vibration {  // of a bearing, 128 readings: a score for its fault, which is rare
  nn::Linear hidden, output;
  constexpr explicit Vibration(Scope s) : hidden(s / "hidden", 65, 16), output(s / "output", 16, 1) {}
  constexpr Var spectrum(Var x) const {  // [batch, 65]: logarithms of the power at each frequency
    const Var each = constant_like(x, Shape{128, 65}, 0);  // of readings and frequencies
    const Var turns = convert(iota(each, 0), DType::f32) * convert(iota(each, 1), DType::f32) * (1.0 / 128);
    const Var phase = 2 * std::numbers::pi * (turns - floor(turns));
    const Var readings = x * (0.5 - 0.5 * cos(2 * std::numbers::pi / 128 * convert(iota(x, 1), DType::f32)));  // ends fade out
    return log(square(matmul(readings, cos(phase))) + square(matmul(readings, sin(phase))) + 1e-6);
  }
  constexpr Var predict(Var x) const { return select(output(tanh(hidden(spectrum(x)))), 1, 0); }
  constexpr Loss loss(Var x, Var fault) const {
    const Var score = predict(x);
    return {bce_with_logits(score, fault, 20.0), precision("precision", score > 0.0, fault),
            recall("recall", score > 0.0, fault)};
  }
};

using VibrationNet = Compiled<Vibration, Inputs<f32[128], f32>>;

/// Returns the readings of a machine whose eight sensors follow its load and its temperature.
std::vector<float> readings(int samples, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x;
  for (int i = 0; i < samples; ++i) {
    const float load = normal(random), warmth = normal(random);
    for (int c = 0; c < 8; ++c)
      x.push_back(load * std::cos(float(c)) + warmth * std::sin(2 * float(c)) + 0.05f * normal(random));
  }
  return x;
}

TEST(DocumentedMonitoring, WhatIsStuckRaisesAnAlarmAndWhatIsMissingDoesNot) {
  using Readings = Dataset<f32, f32>;
  const std::vector<float> x = readings(2000, 1), later = readings(1000, 2), now = readings(200, 3);
  const std::vector<float> all_known(2000 * 8, 1);
  const auto known = [&](int samples) { return std::span(all_known).first(static_cast<std::size_t>(samples) * 8); };
  Trainer trainer(SensorsNet{}, Accumulate{Adam{.learning_rate = 5e-3f}}, {.global_batch = 50, .seed = 1});
  trainer.fit(Readings::of(2000, x, known(2000)), {.epochs = 12, .progress = Progress::never});

  const auto good = Readings::of(1000, later, known(1000));
  std::vector<float> errors = trainer.losses(good);  // of normal operation that was not learned
  const auto nearly_all = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() * 99 / 100);
  std::ranges::nth_element(errors, nearly_all);
  const float limit = *nearly_all;  // one false alarm in a hundred

  const auto alarms = [&](const std::vector<float>& values, std::span<const float> are_known) {
    const std::vector<float> each = trainer.losses(Readings::of(200, values, are_known));
    return std::ranges::count_if(each, [&](float error) { return error > limit; });
  };
  EXPECT_LE(alarms(now, known(200)), 8);
  std::vector<float> stuck = now, missing = now, without(known(200).begin(), known(200).end());
  for (std::size_t i = 0; i < 200; ++i) stuck[8 * i + 3] = 3, missing[8 * i + 3] = without[8 * i + 3] = 0;
  EXPECT_GE(alarms(stuck, known(200)), 190);
  EXPECT_LE(alarms(missing, without), 10);

  const std::vector<float> expected = trainer.predict(stuck, known(200));
  int found = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    std::size_t worst = 0;
    const auto apart = [&](std::size_t c) { return std::abs(expected[8 * i + c] - stuck[8 * i + c]); };
    for (std::size_t c = 1; c < 8; ++c) worst = apart(c) > apart(worst) ? c : worst;
    found += worst == 3;
  }
  EXPECT_GE(found, 180);
}

TEST(DocumentedMonitoring, SpectraAreThatOfTheirSums) {
  struct Spectrum : Vibration {
    using Vibration::Vibration;
    constexpr Var predict(Var x) const { return spectrum(x); }
  };
  using Net = Compiled<Spectrum, Inputs<f32[128], f32>>;
  std::vector<float> x(128), logarithms(65);
  for (std::size_t t = 0; t < 128; ++t) x[t] = std::sin(0.3f * float(t)) + 0.3f * std::sin(1.7f * float(t) + 1);
  Inference<Net> spectrum(initial_parameters<Net>(1));
  spectrum(x, logarithms);
  for (std::size_t f = 0; f < 65; ++f) {
    double real = 0, imaginary = 0;
    for (std::size_t t = 0; t < 128; ++t) {
      const double turn = 2 * std::numbers::pi / 128 * double(t), reading = x[t] * (0.5 - 0.5 * std::cos(turn));
      real += reading * std::cos(turn * double(f)), imaginary += reading * std::sin(turn * double(f));
    }
    EXPECT_NEAR(logarithms[f], std::log(real * real + imaginary * imaginary + 1e-6), 1e-3);
  }
}

TEST(DocumentedMonitoring, RareFaultsAreFound) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x, fault;
  for (int i = 0; i < 640; ++i) {
    fault.push_back(i % 20 == 0);
    const float begin = 3 * normal(random);
    for (int t = 0; t < 128; ++t)
      x.push_back(std::sin(0.3f * float(t) + begin) + 0.3f * fault.back() * std::sin(1.7f * float(t) + 2 * begin) +
                  0.2f * normal(random));
  }
  Trainer trainer(VibrationNet{}, Accumulate{Adam{.learning_rate = 5e-3f}}, {.global_batch = 64, .seed = 1});
  EXPECT_GE(trainer.memory().derived, 2 * 128 * 65 * 4);  // matrices that depend on nothing, made once a window
  trainer.fit(Dataset(x, fault), {.epochs = 10, .progress = Progress::never});
  const std::vector<std::int32_t> faulty(fault.begin(), fault.end());
  EXPECT_GT(roc_auc(trainer.predict(x), faulty), 0.99);
}

}  // namespace documented_monitoring_test
