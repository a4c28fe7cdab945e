// A recurrent net reads twelve values of a series and learns to predict the next one. Then it continues alone, reading its
// own predictions.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "model.hpp"

using namespace forecasts;

namespace {

constexpr int learned = 600, ahead = 72;

/// Returns the sum of two waves, which never repeats itself at whole `t`.
float series(int t) { return static_cast<float>(0.6 * std::sin(0.41 * t) + 0.35 * std::sin(0.163 * t + 1)); }

void plot(std::span<const float> forecast) {
  constexpr int rows = 13;
  const auto row_of = [](float value) {
    return std::clamp(static_cast<int>(std::lround((1 - static_cast<double>(value)) / 2 * (rows - 1))), 0, rows - 1);
  };
  for (int row = 0; row < rows; ++row) {
    for (int t = 0; t < ahead; ++t) {
      const bool truth = row_of(series(learned + t)) == row,
                 predicted = row_of(forecast[static_cast<std::size_t>(t)]) == row;
      std::putchar(truth && predicted ? '*' : truth ? '.' : predicted ? 'o' : ' ');
    }
    std::putchar('\n');
  }
}

}  // namespace

int main() try {
  std::vector<float> x, next;
  for (int t = 0; t + steps < learned; ++t) {
    for (int i = 0; i < steps; ++i) x.push_back(series(t + i));
    next.push_back(series(t + steps));
  }
  const auto data = Dataset<f32, f32>::of(learned - steps, x, next);
  Trainer trainer(Net{}, Accumulate{Adam{.learning_rate = schedule::cosine(1e-2, 1000)}},
                  {.global_batch = 64, .micro_batch = 32});
  std::printf("%lld B of parameters, %lld B of gradients: the %d uses of a weight are one sum\n",
              static_cast<long long>(trainer.memory().parameters), static_cast<long long>(trainer.memory().gradients),
              steps);
  const History history = trainer.fit(data, {.epochs = 100, .progress = Progress::never});
  for (const EpochRecord& epoch : history)
    if ((epoch.epoch + 1) % 25 == 0) std::printf("epoch %3d  loss %.6f\n", epoch.epoch + 1, epoch.training.loss());

  Inference<Net> predict(trainer.parameters());
  std::vector<float> seen(x.end() - steps + 1, x.end()), forecast;
  seen.push_back(next.back());
  double error = 0, spread = 0;
  for (int t = 0; t < ahead; ++t) {
    float value = 0;
    predict(seen, std::span(&value, 1));
    std::rotate(seen.begin(), seen.begin() + 1, seen.end());
    seen.back() = value;
    forecast.push_back(value);
    error += std::pow(value - series(learned + t), 2);
    spread += std::pow(series(learned + t), 2);
  }
  std::printf("\n%d steps alone (o), the series (.), both (*):\n\n", ahead);
  plot(forecast);
  std::printf("\nroot mean square error %.3f, of the series itself %.3f\n", std::sqrt(error / ahead),
              std::sqrt(spread / ahead));
  return error < 0.05 * spread ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
