// Compiled and eager sessions whose windows are cut anywhere, resumed anywhere and disturbed by calls that may change nothing,
// to the bits of one that is given long ranges. GRADUAL_SEED=n runs the stories from seed n on, not fresh ones.
#include "../drawn_seeds.hpp"
#include "../random_session.hpp"

namespace random_sessions_test {

using namespace random_session;

/// Numbers of which one makes a loss that is not finite.
std::vector<float> with_one_far(std::vector<float> values) {
  values[values.size() / 3] = std::numeric_limits<float>::max();
  return values;
}
std::tuple<Samples<float>, Samples<std::int32_t>> classified(const std::vector<float>& x) {
  return {{x, {9}}, {labels(all_samples, 5), {}}};
}
const std::vector<float> ordinary = numbers(all_samples * 9);

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

/// Runs stories about a model with an optimizer, and returns how many windows there were.
template <class Net, class Model, class Optimizer, class... T>
Windows told(const Optimizer& optimizer, const std::tuple<Samples<T>...>& data, bool draws = false) {
  constexpr bool twice = evaluates_twice<RuleOf<Optimizer>>;
  const auto compiled = [&](const SessionOptions& options, Chance& chance) {
    return std::make_unique<CompiledPlayer<Model, Net, Optimizer, T...>>(data, optimizer, options, chance);
  };
  const auto eager = [&](const SessionOptions& options, Chance& chance) {
    return std::make_unique<EagerPlayer<Model, Optimizer, T...>>(data, optimizer, options, chance);
  };
  Windows all;
  for (const std::uint64_t seed : drawn_seeds("sessions", 5, 10)) {
    if (testing::Test::HasFailure()) break;
    Chance chance(~seed);
    const Story story{seed, drawn_options(chance, !twice), twice, draws, false};
    const auto [stepped, dropped] = expect_undisturbed(story, {compiled, eager});
    all.stepped += stepped, all.dropped += dropped;
  }
  return all;
}
void expect_few_dropped(const Windows& windows) {
  EXPECT_GT(windows.dropped, 0);
  EXPECT_LT(windows.dropped, windows.stepped);
}

TEST(RandomSessions, OfAClassifier) {
  EXPECT_EQ((told<ClassifierNet, Classifier>(Accumulate{Adam{}}, classified(ordinary)).dropped), 0);
}

TEST(RandomSessions, WhoseOptimizerEvaluatesTwice) {
  EXPECT_EQ((told<ClassifierNet, Classifier>(Accumulate{Sam{Sgd{.momentum = 0.9}}}, classified(ordinary)).dropped), 0);
}

TEST(RandomSessions, OfWeightedSamples) {
  std::vector<float> weights = numbers(all_samples, 3);
  for (float& weight : weights) weight = weight < 0 ? 0 : 2 * weight;
  const std::tuple data(Samples<float>{numbers(all_samples * 4), {4}}, Samples<float>{numbers(all_samples * 3, 2), {3}},
                        Samples<float>{weights, {}});
  const Accumulate optimizer{ClipByGlobalNorm{Ema{AdamW{.learning_rate = schedule::cosine(0.01, 9)}}}};
  EXPECT_EQ((told<WeightedNet, WeightedRegression>(optimizer, data).dropped), 0);
}

TEST(RandomSessions, OfALayerUsedSeveralTimesWithScaledLosses) {
  const std::tuple data(Samples<float>{with_one_far(numbers(all_samples * 108)), {3, 36}},
                        Samples<float>{numbers(all_samples * 2, 2), {2}});
  const Accumulate optimizer{LossScale{Lookahead{Lion{}}, {.double_after = 3}}};
  expect_few_dropped(told<SharedNet, Shared>(optimizer, data));
}

TEST(RandomSessions, ThatDraw) {
  expect_few_dropped(told<DroppedNet, Dropped>(Accumulate{Adafactor{}}, classified(with_one_far(ordinary)), true));
}

}  // namespace random_sessions_test
