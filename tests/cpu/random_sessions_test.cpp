// Compiled and eager sessions whose windows are cut anywhere, resumed anywhere and disturbed by calls that may change nothing,
// to the bits of one that is given whole windows. GRADUAL_SEED=n runs the stories from seed n on, not fresh ones.
#include "../drawn_seeds.hpp"
#include "../random_session.hpp"

namespace random_sessions_test {

using namespace random_session;

/// Numbers of which one makes a loss that is not finite.
std::vector<float> with_one_far(std::vector<float> values) {
  values[values.size() / 3] = std::numeric_limits<float>::max();
  return values;
}
const std::tuple<Samples<float>, Samples<std::int32_t>> classified{{with_one_far(numbers(all_samples * 9)), {9}},
                                                                   {labels(all_samples, 5), {}}};

/// The options of sessions in a story.
SessionOptions drawn_options(Chance& chance, bool varying) {
  SessionOptions options{.global_batch = 1 + chance.below(300), .seed = static_cast<std::uint64_t>(chance.below(9))};
  if (chance.one_in(4)) options.freeze = {"*/bias"};
  if (chance.one_in(4)) options.reduction = Reduction::sum;
  if (varying && chance.one_in(3))
    options.window_samples = schedule::polynomial(static_cast<double>(options.global_batch), 10, 1, 0, 20);
  if (varying && chance.one_in(3)) options.window_weight = 170;
  return options;
}

/// Runs stories about a model with an optimizer.
template <class Net, class Model, class Optimizer, class... T>
void expect_undisturbed(const Optimizer& optimizer, const std::tuple<Samples<T>...>& data, bool draws_numbers = false) {
  constexpr bool twice = evaluates_twice<RuleOf<Optimizer>>;
  const std::vector<Make> make = {[&](const SessionOptions& o, Chance& d) {
                                    return std::make_unique<CompiledPlayer<Model, Net, Optimizer, T...>>(data, optimizer, o, d);
                                  },
                                  [&](const SessionOptions& o, Chance& d) {
                                    return std::make_unique<EagerPlayer<Model, Optimizer, T...>>(data, optimizer, o, d);
                                  }};
  for (const std::uint64_t seed : drawn_seeds("sessions", 5, 10)) {
    if (testing::Test::HasFailure()) break;
    Chance chance(~seed);
    random_session::expect_undisturbed({seed, drawn_options(chance, !twice), twice, draws_numbers}, make);
  }
}

TEST(RandomSessions, OfAClassifier) { expect_undisturbed<ClassifierNet, Classifier>(Accumulate{Adam{}}, classified); }

TEST(RandomSessions, WhoseOptimizerEvaluatesTwice) {
  expect_undisturbed<ClassifierNet, Classifier>(Accumulate{Sam{Sgd{.momentum = 0.9}}}, classified);
}

TEST(RandomSessions, OfWeightedSamples) {
  std::vector<float> weights = numbers(all_samples, 3);
  for (float& weight : weights) weight = weight < 0 ? 0 : 2 * weight;
  expect_undisturbed<WeightedNet, WeightedRegression>(
      Accumulate{ClipByGlobalNorm{Ema{AdamW{.learning_rate = schedule::cosine(0.01, 9)}}}},
      std::tuple(Samples<float>{numbers(all_samples * 4), {4}}, Samples<float>{numbers(all_samples * 3, 2), {3}},
                 Samples<float>{weights, {}}));
}

TEST(RandomSessions, OfALayerUsedSeveralTimesWithScaledLosses) {
  expect_undisturbed<SharedNet, Shared>(Accumulate{LossScale{Lookahead{Lion{}}, {.double_after = 3}}},
                                        std::tuple(Samples<float>{with_one_far(numbers(all_samples * 108)), {3, 36}},
                                                   Samples<float>{numbers(all_samples * 2, 2), {2}}));
}

TEST(RandomSessions, ThatDraw) { expect_undisturbed<DroppedNet, Dropped>(Accumulate{Adafactor{}}, classified, true); }

}  // namespace random_sessions_test
