// An eager session's compiled update has the bits of the same tape run op by op, which serves all rules that are not compiled.
// For every rule, no bit depends on how windows are split, on where a run is resumed, or on dropped windows.
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include <gradual/check/reference_update.hpp>

#include "../models.hpp"
#include "../rules.hpp"

namespace eager_update_test {

using namespace models;

/// An op that is in no list, for `Remembering`, which keeps the last two parameters: results that are unchanged inputs.
struct Tripled {
  static constexpr const char* name = "tripled";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  template <class T>
  static constexpr T apply(T x) {
    return 3 * x;
  }
};
struct Remembering {
  struct State {
    Var last, before;
  };
  constexpr Update<State> operator()(Var parameter, Var gradient, State state) const {
    const Var tripled = parameter.tape->record(op_info<Tripled>, {gradient}, gradient.shape(), gradient.dtype());
    return {parameter - tripled * 0.1 + (state.last - state.before) * 0.5, {parameter, state.last}};
  }
};
/// A loop that replaces the parameter, and a later one that reads it.
struct ReadingLate {
  struct State {
    Var moved;
  };
  constexpr auto operator()(Var parameter, Var gradient, State) const {
    const Var next = parameter - 0.01 * gradient;
    Var moved = next;
    for (int i = 0; i < 30; ++i) moved = tanh(moved + gradient);
    return update(next, State{moved + parameter});
  }
};
/// Swaps the parameter and its state.
struct Exchanging {
  struct State {
    Var other;
  };
  constexpr Update<State> operator()(Var parameter, Var, State state) const { return {state.other, {parameter}}; }
};

/// A rule whose program depends on a number.
struct Doubling {
  bool doubles = false;
  constexpr auto operator()(Var parameter, Var gradient, NoState) const {
    return update(doubles ? parameter - 2.0 * gradient : parameter - gradient, NoState{});
  }
};
/// A rule that cannot run at compile time.
struct AtRunTime {
  auto operator()(Var parameter, Var gradient, NoState) const { return update(parameter - gradient, NoState{}); }
};

static_assert(UpdatesByElement<WeightDecay<Lookahead<Ema<ClipByValue<NAdam>>>>>);
static_assert(!UpdatesByElement<ClipByGlobalNorm<Sgd>> && !UpdatesByElement<Lamb>, "elements need others");
static_assert(UpdatesByElement<Exchanging> && !UpdatesByElement<Remembering> && !UpdatesByElement<AtRunTime>);
static_assert(!UpdatesByElement<ReadingLate>);

template <class Rule>
class CompiledUpdate : public testing::Test {};
using Elementwise = testing::Types<Sgd, Adam, Ema<AmsGrad>, Lookahead<ClipByValue<RAdam>>>;
TYPED_TEST_SUITE(CompiledUpdate, Elementwise);

TYPED_TEST(CompiledUpdate, HasTheBitsOfSingleOps) {
  constexpr std::size_t arrays = 2 + gradual::detail::state_size<StateOf<TypeParam>>();
  const Device device = Device::cpu();
  for (const std::int64_t n : {1, 511, 1300}) {
    Tape tape = trace_update(TypeParam{}, n);
    std::vector<float> ours[arrays], theirs[arrays], numbers_of_compiled, numbers_of_ops(tape.scalars.size());
    for (std::size_t i = 0; i < arrays; ++i)
      ours[i] = theirs[i] = i < 2 ? numbers(static_cast<std::size_t>(n), static_cast<unsigned>(i))
                                  : std::vector<float>(static_cast<std::size_t>(n));
    const std::vector<Scalar> scalars = tape.scalars;
    auto compiled = ElementwiseUpdate<>::of<TypeParam>(device, tape, n);
    ASSERT_TRUE(compiled.has_value());
    const UpdateParts parts(tape);
    UpdateByOps by_ops(device, std::move(tape), parts, numbers_of_ops.data(), OpsFor<TypeParam>{});
    numbers_of_compiled.resize(scalars.size());
    for (int step = 0; step < 3; ++step) {
      const auto fill = [&](const std::vector<Scalar>& from, std::vector<float>& to) {
        for (std::size_t s = rule_scalars; s < from.size(); ++s) to[s] = static_cast<float>(from[s].at(step));
        to[window_weight] = static_cast<float>(2 * step + 1), to[step_count] = static_cast<float>(step + 1);
      };
      fill(scalars, numbers_of_ops);
      fill(compiled->scalars(), numbers_of_compiled);
      float *our_places[arrays], *their_places[arrays];
      for (std::size_t i = 0; i < arrays; ++i) our_places[i] = ours[i].data(), their_places[i] = theirs[i].data();
      compiled->run(Cpu::Queue(1), numbers_of_compiled.data(), our_places);
      by_ops.run(their_places, {});
      for (std::size_t i = 0; i < arrays; ++i)
        EXPECT_EQ(differing_bits(std::as_bytes(std::span(ours[i])), std::as_bytes(std::span(theirs[i]))), 0)
            << "array " << i << " of " << n << " after " << step << " steps";
    }
  }
}

/// Returns parameters (3, 5) and states after two updates with gradient (1, 2) in a window of weight 1; state i begins with
/// (10 + i, 20 + i).
template <class Rule>
std::vector<std::vector<float>> two_updates(const Rule& rule) {
  std::vector<std::vector<float>> arrays{{3, 5}, {1, 2}};
  for (int i = 0; i < gradual::detail::state_size<StateOf<Rule>>(); ++i)
    arrays.push_back({static_cast<float>(10 + i), static_cast<float>(20 + i)});
  ParameterInfo all;
  all.shape = Shape{2};
  EagerUpdate<Rule> update(Device::cpu(), rule, std::span(&all, 1));
  std::vector<float*> places;
  for (auto& array : arrays) places.push_back(array.data());
  for (int step = 0; step < 2; ++step) update.run(Cpu::Queue(1), places.data(), {.steps = step});
  arrays.erase(arrays.begin() + 1);
  return arrays;
}

TEST(EagerUpdate, AveragesParameters) {
  const auto rule = Ema{Adam{.learning_rate = 0.01f}, 0.5f};
  const auto x = numbers(32 * 9);
  const auto y = labels(32, 5);
  Session compiled(ClassifierNet{}, Accumulate{rule}, {.global_batch = 32, .seed = 3});
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session eager(parameters, Accumulate{rule}, {.global_batch = 32, .seed = 3});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(differing_bits(std::as_bytes(compiled.averaged_parameters().values()), std::as_bytes(eager.averaged_parameters())),
              0);
    compiled.accumulate(x, y);
    eager.accumulate(32, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  }
}

TEST(EagerUpdate, RunsOpByOpWhatTheCompilerDoesNotMake) {
  using Arrays = std::vector<std::vector<float>>;
  EXPECT_EQ(two_updates(Exchanging{}), (Arrays{{3, 5}, {10, 20}}));
  EXPECT_EQ(two_updates(AtRunTime{}), (Arrays{{1, 1}}));
  EXPECT_EQ(two_updates(Doubling{false}), (Arrays{{1, 1}}));
  EXPECT_EQ(two_updates(Doubling{true}), (Arrays{{-1, -3}}));
  const float third = 3.0f * 0.1f, sixth = 6.0f * 0.1f, a = 3 - third - 0.5f, b = 5 - sixth - 0.5f;
  EXPECT_EQ(two_updates(Remembering{}),
            (Arrays{{a - third + (3 - 10) * 0.5f, b - sixth + (5 - 20) * 0.5f}, {a, b}, {3, 5}}));
}

/// A classifier in training by any rule, so that the code that uses it is compiled once.
struct Run {
  using Arrays = std::vector<std::vector<float>>;
  Parameters parameters{Device::cpu()};
  Classifier net{parameters.root()};
  Tape update;

  virtual ~Run() = default;
  virtual int accumulate(std::span<const float> x, std::span<const std::int32_t> y) = 0;
  virtual Arrays arrays() const = 0;  ///< parameters, the last window's gradient, states
  virtual std::int64_t dropped_windows() const = 0;
  virtual Checkpoint state() const = 0;
  virtual void restore(const Checkpoint& state) = 0;

  /// Accumulates window `step`, counted from 1, in one call and compares its update with the reference.
  void accumulate_window(std::span<const float> x, std::span<const std::int32_t> y, int step) {
    Arrays before = arrays();
    ASSERT_EQ(accumulate(x, y), 1);
    before[1] = arrays()[1];
    expect_same(detail::reference_update(update, before, static_cast<float>(y.size()), step));
  }
  void expect_same(const Arrays& expected) const {
    const Arrays ours = arrays();
    for (std::size_t a = 0; a < ours.size(); ++a)
      EXPECT_EQ(differing_bits(std::as_bytes(std::span(ours[a])), std::as_bytes(std::span(expected[a]))), 0)
          << "array " << a;
  }
};

template <class Rule>
struct RunBy final : Run {
  Session<Parameters, Accumulate<Rule>, Inputs<>> session;
  RunBy(const Rule& rule, std::int64_t window)
      : session(parameters, Accumulate{rule}, {.global_batch = window, .seed = 7}) {
    update = trace_update(rule, parameters.declared());
  }
  int accumulate(std::span<const float> x, std::span<const std::int32_t> y) override {
    return session.accumulate(static_cast<std::int64_t>(y.size()),
                              [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  }
  Arrays arrays() const override {
    Arrays all{{parameters.values().begin(), parameters.values().end()},
               {session.last_gradient().begin(), session.last_gradient().end()}};
    for (int s = 0; s < gradual::detail::state_size<StateOf<Rule>>(); ++s)
      all.emplace_back(session.optimizer_state(s).begin(), session.optimizer_state(s).end());
    return all;
  }
  std::int64_t dropped_windows() const override { return session.dropped_windows(); }
  Checkpoint state() const override { return session.state(); }
  void restore(const Checkpoint& state) override { session.restore(state); }
};
using Make = std::unique_ptr<Run> (*)(std::int64_t window);

void expect_same_bits_of_splits(Make make) {
  const std::vector<std::size_t> splits[] = {
      std::vector<std::size_t>(16, 64), {341, 341, 341, 1}, {7, 100, 1, 300, 616}};
  const auto x = numbers(1024 * 9);
  const auto y = labels(1024, 5);
  const auto whole = make(1024), split = make(1024);
  for (int step = 1; step <= 100; ++step) {
    whole->accumulate_window(x, y, step);
    int steps = 0;
    for (std::size_t at = 0; const std::size_t part : splits[step % 3]) {
      steps += split->accumulate(std::span(x).subspan(at * 9, part * 9), std::span(y).subspan(at, part));
      at += part;
    }
    ASSERT_EQ(steps, 1);
  }
  split->expect_same(whole->arrays());
}

void expect_same_bits_after_anything(Make make) {
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  const std::vector<float> far(512 * 9, std::numeric_limits<float>::max());
  const auto whole = make(512), dropping = make(512);
  for (int step = 1; step <= 4; ++step) {
    whole->accumulate_window(x, y, step);
    EXPECT_EQ(dropping->accumulate(far, y), 0);
    EXPECT_EQ(dropping->accumulate(x, y), 1);
  }
  EXPECT_EQ(dropping->dropped_windows(), 4);
  dropping->expect_same(whole->arrays());
  for (const std::size_t at : {7u, 128u, 408u}) {
    const auto killed = make(512), resumed = make(512);
    for (int step = 0; step < 3; ++step) killed->accumulate(x, y);
    const Run::Arrays before = killed->arrays();
    killed->accumulate(std::span(x).first(at * 9), std::span(y).first(at));
    killed->expect_same(before);  // the rule runs at the window's end
    resumed->restore(killed->state());
    resumed->accumulate(std::span(x).subspan(at * 9), std::span(y).subspan(at));
    resumed->expect_same(whole->arrays());
  }
}

template <class Rule>
class EveryRuleEagerly : public testing::Test {};
TYPED_TEST_SUITE(EveryRuleEagerly, EveryRule::to<testing::Types>);

TYPED_TEST(EveryRuleEagerly, EndsInTheSameBits) {  // case 1
  expect_same_bits_of_splits([](std::int64_t window) -> std::unique_ptr<Run> {
    return std::make_unique<RunBy<TypeParam>>(TypeParam{}, window);
  });
}

TYPED_TEST(EveryRuleEagerly, GoesOnFromAnyPlaceAndForgetsDroppedWindows) {  // cases 4, 6, 7, 10 and 37
  expect_same_bits_after_anything([](std::int64_t window) -> std::unique_ptr<Run> {
    return std::make_unique<RunBy<TypeParam>>(with_all_numbers<TypeParam>(), window);
  });
}

}  // namespace eager_update_test
