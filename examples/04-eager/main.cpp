// A recurrent net whose length depends on the data: it reads numbers one by one until their sum reaches 1, at a position
// that is known only once it is reached, and learns to say how many it has read. Every part of a batch is recorded anew.
#include <gradual/gradual.hpp>

#include <cstdio>

using namespace gradual;

constexpr std::int64_t longest = 12, samples = 2048;

struct Counter {
  nn::Linear state, input, output;
  Counter(Scope s, std::int64_t width)
      : state(s / "state", width, width), input(s / "input", 1, width), output(s / "output", width, 1) {}

  /// x: [batch, longest], target: [batch].
  Loss loss(Var x, Var target) const {
    Var sum_so_far = sum(x, {1}, true) * 0.0, h;
    for (int t = 0; t < longest; ++t) {
      const Var goes_on = sum_so_far < 1.0;
      const Tensor open = value(goes_on);
      bool any = false;
      for (float o : open.values<float>()) any = any || o != 0;
      if (!any) break;  // every sample of this part has reached its end
      const Var number = sum(where(iota(x, 1) == double(t), x, 0.0), {1}, true);
      const Var next = tanh(h.valid() ? state(h) + input(number) : input(number));
      h = h.valid() ? where(goes_on, next, h) : next;
      sum_so_far = sum_so_far + goes_on * number;
    }
    const Var error = output(h) - reshape(target, Shape::per_sample({1}));
    return {mean_per_sample(square(error)), metric("within a half", reshape(abs(error), target.shape()) < 0.5)};
  }
};

int main() try {
  std::vector<float> x(samples * longest), count(samples);
  for (std::size_t s = 0; s < samples; ++s) {
    float total = 0;
    for (std::size_t t = 0; t < longest; ++t) {
      x[s * longest + t] = 0.1f + 0.6f * uniform<float>(1, s, t);
      if (total < 1) total += x[s * longest + t], ++count[s];
    }
  }
  const auto train = [&](std::int64_t micro_batch, bool verbose) {
    Parameters parameters(Device::cpu());
    const Counter counter(parameters.root(), 24);
    const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> part, std::span<const float> counts) {
      const Var in = tape.input(part, {longest}), target = tape.input(counts);
      return counter.loss(in, target);
    });
    Trainer trainer(net, Accumulate{Adam{.learning_rate = 5e-3f}},
                    {.global_batch = 512, .micro_batch = micro_batch, .seed = 3});
    const auto print = [&](const EpochRecord& epoch) {
      if (!verbose || epoch.epoch % 20 != 19) return;
      std::printf("epoch %2d  step %3lld  loss %.4f  within a half %.4f\n", epoch.epoch + 1,
                  static_cast<long long>(epoch.steps), epoch.training.loss(), epoch.training.metric(0));
    };
    return trainer.fit(Dataset(x, count), {.epochs = 60, .progress = Progress::never, .on_epoch = print}).back().training;
  };
  const Averages large = train(512, true), small = train(100, false);
  std::printf("in micro-batches of 100: loss %.4f  within a half %.4f\n", small.loss(), small.metric(0));
  return large.metric(0) > 0.9 && small.metric(0) > 0.9 ? 0 : 1;
} catch (const Error& error) {
  std::printf("error: %s\n", error.what());
  return 1;
}
