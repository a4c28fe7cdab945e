// A custom op in its own header: its derivative is checked, then a net that uses it learns to tell two spirals apart.
#include <cmath>
#include <cstdio>
#include <iostream>

#include <gradual/check/test_op.hpp>

#include "model.hpp"

using namespace spirals;

int main() try {
  const auto check = test_op<Mish>();
  std::printf("mish: %d derivatives against finite differences, %zu differ\n", check.checks, check.mistakes.size());
  for (const std::string& mistake : check.mistakes) std::cerr << mistake << '\n';

  std::vector<float> points;
  std::vector<std::int32_t> arms;
  for (int i = 0; i < 1000; ++i) {
    const double turn = 0.5 + 9.0 * (i / 2) / 500, side = i % 2 ? 1 : -1;
    points.push_back(static_cast<float>(side * turn / 10 * std::cos(turn)));
    points.push_back(static_cast<float>(side * turn / 10 * std::sin(turn)));
    arms.push_back(i % 2);
  }
  const Dataset data(points, arms);
  Trainer trainer(Compiled<Spirals, Inputs<f32[2], i32>>{}, Accumulate{Adam{.learning_rate = 5e-3f}},
                  {.global_batch = 250, .micro_batch = 50});
  trainer.fit(data, {.epochs = 300});
  const Averages result = trainer.evaluate(data);
  std::printf("two spirals, 1000 points: loss %.4f, accuracy %.4f\n", result.loss(), result.metric(0));
  return check.mistakes.empty() && result.metric(0) > 0.99 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
