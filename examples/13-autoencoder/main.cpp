// A variational autoencoder of digits: convolutions to eight numbers, transposed convolutions back to an image. Prints what
// its decoder draws from random numbers, and checks that the noise inside it does not depend on how windows are cut.
#include <cstdio>
#include <iostream>

#include <gradual/check/test_splits.hpp>

#include "../01-digits/data.hpp"
#include "../01-digits/print_images.hpp"
#include "models.hpp"

using namespace autoencoder;

namespace {

constexpr auto optimizer = Accumulate{Adam{.learning_rate = schedule::cosine(5e-3, 900)}};

}  // namespace

int main() try {
  const digits::Data data(0);
  const auto [train, test] = Dataset<f32>::of(std::ssize(data.labels), data.images).split(0.8);
  Trainer trainer(Net{}, optimizer, {.global_batch = 96, .memory_budget = 256_KiB});
  const double before = trainer.evaluate(test).loss();
  const History history = trainer.fit(train, {.epochs = 60, .validate = test, .progress = Progress::never});
  for (const EpochRecord& epoch : history)
    if ((epoch.epoch + 1) % 10 == 0)
      std::printf("epoch %3d  loss %.2f  test loss %.2f: pixels %.2f, codes %.2f\n", epoch.epoch + 1, epoch.training.loss(),
                  epoch.validation.loss(), epoch.validation.metric(Net::metric("pixels")),
                  epoch.validation.metric(Net::metric("codes")));
  trainer.save("autoencoder.safetensors");

  constexpr std::size_t shown = 8;
  const auto unseen = std::span(data.images).last(shown * pixels);
  std::vector<float> images(shown * pixels), code(shown * codes);
  Inference<Net> repeat(load("autoencoder.safetensors"), shown);
  repeat(unseen, images);
  std::printf("digits not learned from\n");
  digits::print_images(unseen);
  std::printf("the same from eight numbers each\n");
  digits::print_images(images);
  for (std::size_t i = 0; i < code.size(); ++i) code[i] = normal<float>(7, 0, i);
  Inference<PainterNet> paint(load("autoencoder.safetensors"), shown);
  paint(code, images);
  std::printf("drawn from random numbers\n");
  digits::print_images(images);

  const auto window = std::span(data.images).first(96 * pixels);
  const SplitCheck splits = test_splits(Net{}, optimizer, {{32, 32, 32}, {7, 64, 25}}, window);
  std::cout << '\n' << splits;
  return splits.mistakes.empty() && history.back().validation.loss() < 0.7 * before ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
