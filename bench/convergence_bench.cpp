// Which batch size? The digits, learned in small windows, in large ones at once, and in large ones accumulated from small
// parts: loss by epoch, steps, time and bytes. Each at the learning rate of a grid that ends with the lowest validation
// loss; means over 5 seeds, which determine how the data is split and the nets are initialised. Accuracy is that on a third
// part, the test set. Run it in the folder that contains examples/data; `| tools/curves > docs/which-batch-size.svg` draws it.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "nets.hpp"

using namespace nets;

namespace {

struct Mlp {
  nn::Linear hidden, output;
  constexpr explicit Mlp(Scope s) : hidden(s / "hidden", 64, 128, init::kaiming_uniform(64)), output(s / "output", 128, 10) {}
  constexpr Var predict(Var x) const { return output(relu(hidden(x))); }
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = predict(x);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};
using Net = Compiled<Mlp, Inputs<f32[64], i32>>;
using Data = Dataset<float, std::int32_t>;
constexpr int epochs = 40, seeds = 5;

struct Digits {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  explicit Digits(std::uint64_t seed) {
    const Table table = read_csv("examples/data/digits.csv", {.columns = 65});
    std::vector<std::int32_t> order(static_cast<std::size_t>(table.rows));
    shuffle(order, seed, 0);
    for (const std::int32_t row : order) {
      for (int i = 0; i < 64; ++i) images.push_back(table.values[static_cast<std::size_t>(row * 65 + i)] / 16);
      labels.push_back(static_cast<std::int32_t>(table.values[static_cast<std::size_t>(row * 65 + 64)]));
    }
  }
};

struct Way {
  const char* name;
  std::int64_t window, micro_batch;
  Scalar samples = 0.0;  ///< of each step's window; 0: all windows have the same size
};

struct Outcome {
  double rate = 0, loss[epochs]{}, accuracy[seeds]{};
  std::int64_t steps = 0, bytes = 0;
  std::vector<double> seconds;    ///< of each epoch of each seed
  std::vector<float> parameters;  ///< of the first seed
};

Outcome train(const Way& way, double rate, const std::vector<Digits>& digits) {
  Outcome result;
  result.rate = rate;
  for (int seed = 0; seed < seeds; ++seed) {
    const Digits& d = digits[static_cast<std::size_t>(seed)];
    const Data all(d.images, d.labels), learned = all.subset(0, 1078), validation = all.subset(1078, 359),
                                        test = all.subset(1437, 360);
    Trainer trainer(Net{}, Accumulate{Adam{.learning_rate = rate}},
                    {.global_batch = way.window,
                     .micro_batch = way.micro_batch,
                     .seed = static_cast<std::uint64_t>(seed),
                     .window_samples = way.samples});
    const History history = trainer.fit(learned, {.epochs = epochs, .validate = validation, .progress = Progress::never});
    for (int e = 0; e < epochs; ++e) {
      result.loss[e] += history[static_cast<std::size_t>(e)].validation.loss() / seeds;
      result.seconds.push_back(history[static_cast<std::size_t>(e)].seconds);
    }
    result.accuracy[seed] = trainer.evaluate(test).metric(0);
    result.steps = trainer.session().step_count();
    result.bytes = trainer.memory().total();
    if (seed == 0) result.parameters.assign(trainer.parameters().values().begin(), trainer.parameters().values().end());
  }
  return result;
}

Outcome best_of(const Way& way, const std::vector<Digits>& digits) {
  Outcome best;
  for (double rate = 5e-4; rate < 0.1; rate *= 2)
    if (Outcome now = train(way, rate, digits); best.rate == 0 || now.loss[epochs - 1] < best.loss[epochs - 1])
      best = std::move(now);
  return best;
}

}  // namespace

int main() {
  std::vector<Digits> digits;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) digits.emplace_back(seed);
  const Way ways[] = {{"16", 16, 16},
                      {"64", 64, 64},
                      {"512 at once", 512, 512},
                      {"512 as 8 x 64", 512, 64},
                      {"1078 as 17 x 64", 1078, 64},
                      {"64 growing to 512", 512, 64, schedule::step(64, 100, 2)}};
  constexpr double goal = 0.12;
  std::printf("Adam, %d epochs of 1078 digits, 64-128-10\n", epochs);
  std::printf("%-18s %7s %7s %8s %9s %9s %11s %17s\n", "samples of a step", "rate", "steps", "bytes", "ms/epoch", "shortest",
              "loss <= 0.12", "test accuracy");
  std::vector<Outcome> outcomes;
  for (const Way& way : ways) {
    const Outcome o = best_of(way, digits);
    int reached = 0;
    while (reached < epochs && o.loss[reached] > goal) ++reached;
    double mean = 0, square = 0;
    for (const double a : o.accuracy) mean += a / seeds, square += a * a / seeds;
    char when[24] = "never";
    if (reached < epochs) std::snprintf(when, sizeof when, "epoch %d", reached + 1);
    std::printf("%-18s %7.4f %7lld %8lld %9.2f %9.2f %11s   %.4f +- %.4f\n", way.name, o.rate, static_cast<long long>(o.steps),
                static_cast<long long>(o.bytes), 1e3 * median(o.seconds), 1e3 * *std::ranges::min_element(o.seconds), when,
                mean, std::sqrt(std::max(0.0, square - mean * mean)));
    outcomes.push_back(o);
  }
  const bool same =
      std::memcmp(outcomes[2].parameters.data(), outcomes[3].parameters.data(), outcomes[2].parameters.size() * 4) == 0;
  std::printf("512 at once and as 8 x 64 end in %s\n\n", same ? "the same bits" : "OTHER BITS");
  for (std::size_t w = 0; w < outcomes.size(); ++w) {
    std::printf("validation loss, %s:", ways[w].name);
    for (const double loss : outcomes[w].loss) std::printf(" %.4f", loss);
    std::printf("\n");
  }
  return same ? 0 : 1;
}
