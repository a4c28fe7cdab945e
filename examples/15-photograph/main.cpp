// Learns a photograph: a net of four hidden layers gives the colour at a place. What it has learned has no pixels, and is
// written to learned.ppm at twice the size of the photograph.
// Usage: 15-photograph [image.ppm]
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numbers>

#include "image.hpp"

using namespace gradual;
using namespace photograph;

namespace {

/// Waves of rising frequency in the place, without which a net learns only what is smooth (Tancik et al. 2020), then layers
/// of 64.
struct Photograph {
  static constexpr int waves = 6;
  nn::Linear first;
  std::array<nn::Linear, 3> inner;
  nn::Linear output;
  constexpr explicit Photograph(Scope s)
      : first(s / "first", 4 * waves, 64),
        inner{nn::Linear(s / 1, 64, 64), nn::Linear(s / 2, 64, 64), nn::Linear(s / 3, 64, 64)}, output(s / "output", 64, 3) {}

  constexpr Var predict(Var place) const {
    std::vector<Var> of_place;
    for (int i = 0; i < waves; ++i) {
      const Var turned = place * (std::numbers::pi * (1 << i));
      of_place.push_back(sin(turned));
      of_place.push_back(cos(turned));
    }
    Var x = relu(first(concat(of_place, 1)));
    for (const nn::Linear& layer : inner) x = relu(layer(x));
    return sigmoid(output(x));
  }
  constexpr Loss loss(Var place, Var color) const { return mse(predict(place), color); }
};
using Net = Compiled<Photograph, Inputs<f32[2], f32[3]>>;

}  // namespace

int main(int argc, char** argv) try {
  const Image image = read_ppm(argc > 1 ? argv[1] : GRADUAL_EXAMPLES_DATA "/flower.ppm");
  const std::vector<float> at = places(image.width, image.height);
  const auto pixels = Dataset<f32, f32>::of(std::ssize(image.colors) / 3, at, image.colors);
  constexpr int epochs = 400, window = 1024;
  const std::int64_t steps = (pixels.size() + window - 1) / window * epochs;
  const Accumulate optimizer{Adam{.learning_rate = schedule::one_cycle(1e-2, steps, steps / 11)}};
  Trainer trainer(Net{}, optimizer, {.global_batch = window, .memory_budget = 1_MiB});
  std::printf("%d x %d pixels, %lld parameters, micro-batches of %lld in a budget of 1 MiB\n", image.width, image.height,
              static_cast<long long>(Net::parameter_elements),
              static_cast<long long>(trainer.session().options().micro_batch));
  double seconds = 0, decibels = 0;
  const auto tell = [&](const EpochRecord& epoch) {
    seconds += epoch.seconds;
    decibels = -10 * std::log10(epoch.training.loss());
    if ((epoch.epoch + 1) % 80 == 0)
      std::printf("epoch %3d  loss %.5f, %.1f dB, after %.1f s\n", epoch.epoch + 1, epoch.training.loss(), decibels, seconds);
  };
  trainer.fit(pixels, {.epochs = epochs, .progress = Progress::never, .on_epoch = tell});

  Image larger{2 * image.width, 2 * image.height, std::vector<float>(4 * image.colors.size())};
  Inference<Net> color(trainer.parameters(), 1024);
  color(places(larger.width, larger.height), larger.colors);
  write_ppm("learned.ppm", larger);
  std::printf("written to learned.ppm, %d x %d pixels\n", larger.width, larger.height);
  return decibels > 20 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
