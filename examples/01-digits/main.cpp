// Trains a classifier of handwritten digits in a small memory budget, then shows that the way a window is cut into
// micro-batches does not change a single bit of the result. Usage: 01-digits [--seeds N]
#include <charconv>
#include <iostream>
#include <string_view>

#include "splits.hpp"

using namespace digits;

namespace {

double train_and_test(std::uint64_t seed, bool verbose) {
  const Data data(seed);
  const auto [train, test] = Dataset(data.images, data.labels).split(0.8);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .memory_budget = 256_KiB, .seed = seed});
  if (verbose) {
    std::cout << "64-128-10 on " << train.size() << " digits, global batch 512, micro-batches of "
              << trainer.session().options().micro_batch << " in a budget of " << 256_KiB << " B:\n"
              << trainer.memory();
  }
  const History history = trainer.fit(train, {.epochs = 100, .validate = verbose ? std::optional(test) : std::nullopt});
  const Averages result = trainer.evaluate(test);
  if (verbose) {
    for (const EpochRecord& epoch : history)
      if ((epoch.epoch + 1) % 20 == 0)
        std::printf("epoch %3d  step %3lld  loss %.4f  test loss %.4f  test accuracy %.4f\n", epoch.epoch + 1,
                    static_cast<long long>(epoch.steps), epoch.training.loss(), epoch.validation.loss(),
                    epoch.validation.metric(Net::metric("accuracy")));
    trainer.save("digits.safetensors");
    Inference<Net> classify(load("digits.safetensors"));
    float scores[10];
    classify(std::span(data.images).last(64), scores);
    std::printf("saved to digits.safetensors; loaded again, the last digit is read as %d, and is %d\n",
                static_cast<int>(std::max_element(scores, scores + 10) - scores), data.labels.back());
  }
  return result.metric(Net::metric("accuracy"));
}

/// Returns the number of seeds that `text` gives, or 0 if it is not a positive integer.
int seeds_in(std::string_view text) {
  int seeds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seeds);
  return error == std::errc() && end == text.data() + text.size() && seeds > 0 ? seeds : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const int seeds = argc == 3 && std::string_view(argv[1]) == "--seeds" ? seeds_in(argv[2]) : 0;
  if (argc != 1 && seeds == 0) {
    std::cerr << "usage: " << argv[0] << " [--seeds N], N being at least 1\n";
    return 2;
  }
  if (seeds > 0) {
    std::vector<double> accuracy;
    for (int seed = 0; seed < seeds; ++seed) {
      accuracy.push_back(train_and_test(static_cast<std::uint64_t>(seed), false));
      std::printf("seed %d: test accuracy %.4f\n", seed, accuracy.back());
    }
    std::sort(accuracy.begin(), accuracy.end());
    const std::size_t n = accuracy.size();
    std::printf("median %.4f\n", (accuracy[(n - 1) / 2] + accuracy[n / 2]) / 2);
    return 0;
  }
  const double accuracy = train_and_test(0, true);
  std::printf("test accuracy %.4f\n", accuracy);
  const Data data(0);
  const bool adam = compare_splits("Adam", optimizer, data);
  const bool own = compare_splits("SignDescent, a rule of this example", Accumulate{SignDescent{}}, data);
  if (!adam || !own) std::cerr << "the bits are not what they must be\n";
  return accuracy >= 0.97 && adam && own ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
