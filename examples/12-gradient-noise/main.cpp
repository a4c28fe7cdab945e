// How noisy are gradients, and hence: how large a batch is worthwhile? Measured while a classifier of digits trains, between
// successive batches of 64 samples in its windows. How the windows are cut into micro-batches does not change a bit of it.
#include <cstdio>
#include <iostream>

#include "../01-digits/data.hpp"
#include "../01-digits/model.hpp"

using namespace digits;

namespace {

constexpr int ends[] = {1, 3, 10, 30};  // the last epoch of each line of the table

struct Measured {
  std::vector<GradientNoise> noise;  ///< over the epochs of each line
  std::vector<double> loss;          ///< in the last of them
  std::int64_t bytes = 0;
};

Measured train(const Data& data, std::int64_t micro_batch) {
  Measured result;
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .micro_batch = micro_batch, .seed = 1, .noise_batch = 64});
  result.bytes = trainer.memory().total();
  for (const int end : ends) {
    GradientNoise sum;
    const auto add = [&](std::int64_t, const Averages&) { sum += trainer.session().gradient_noise(); };
    const History history = trainer.fit(Dataset(data.images, data.labels),
                                        {.epochs = end - trainer.epoch(), .progress = Progress::never, .on_step = add});
    result.noise.push_back(sum);
    result.loss.push_back(history.back().training.loss());
  }
  return result;
}

}  // namespace

int main() try {
  const Data data(1);
  const Measured whole = train(data, 512), parts = train(data, 50);
  std::printf("64-128-10 on %zu digits, Adam, windows of 512\n", data.labels.size());
  std::printf("epochs    loss  windows     |G|^2  tr Sigma  noise scale\n");
  bool same = true;
  for (std::size_t i = 0; i < whole.noise.size(); ++i) {
    const GradientNoise &noise = whole.noise[i], &other = parts.noise[i];
    const auto windows = static_cast<double>(noise.windows);
    std::printf("%2d..%2d  %.4f  %7lld  %.2e  %.2e  %11.0f\n", i == 0 ? 1 : ends[i - 1] + 1, ends[i], whole.loss[i],
                static_cast<long long>(noise.windows), noise.gradient_squared / windows, noise.variance / windows,
                noise.scale());
    same = same && noise.variance == other.variance && noise.gradient_squared == other.gradient_squared;
  }
  std::printf("in micro-batches of 50, in %lld B instead of %lld: %s\n", static_cast<long long>(parts.bytes),
              static_cast<long long>(whole.bytes), same ? "the same bits" : "OTHER BITS");
  return same && whole.noise.back().scale() > 10 * whole.noise.front().scale() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
