// A convolutional classifier of handwritten digits, trained in 200 KiB. Prints the kernels that it has learned.
#include <iostream>

#include "../01-digits/data.hpp"
#include "model.hpp"

using namespace convolutions;

namespace {

constexpr auto optimizer = Accumulate{Adam{.learning_rate = 4e-3f}};

void print_kernels(std::span<const float> weights) {
  constexpr int kernels = 12;
  static constexpr const char* shades[] = {"--", "- ", "  ", "+ ", "++"};
  for (int row = 0; row < 3; ++row) {
    for (int k = 0; k < kernels; ++k) {
      for (int column = 0; column < 3; ++column) {
        const float w = weights[static_cast<std::size_t>((k * 3 + row) * 3 + column)];
        std::cout << shades[w < -0.4f ? 0 : w < -0.15f ? 1 : w < 0.15f ? 2 : w < 0.4f ? 3 : 4];
      }
      std::cout << (k + 1 < kernels ? " | " : "\n");
    }
  }
}

}  // namespace

int main() try {
  const digits::Data data(0);
  const auto [train, test] = Dataset(data.images, data.labels).split(0.8);
  Trainer trainer(Net{}, optimizer, {.global_batch = 128, .memory_budget = 200_KiB});
  std::cout << "8x8, 12 and 24 channels of 3x3, 10 classes; micro-batches of " << trainer.session().options().micro_batch
            << ":\n"
            << trainer.memory();
  const History history = trainer.fit(train, {.epochs = 40, .validate = test});
  for (const EpochRecord& epoch : history)
    if ((epoch.epoch + 1) % 10 == 0)
      std::printf("epoch %3d  loss %.4f  test loss %.4f  test accuracy %.4f\n", epoch.epoch + 1, epoch.training.loss(),
                  epoch.validation.loss(), epoch.validation.metric(Net::metric("accuracy")));
  std::cout << "the first layer's kernels:\n";
  print_kernels(trainer.session().parameters()["first/weight"].values);
  return trainer.evaluate(test).metric(Net::metric("accuracy")) >= 0.97 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
