// An eager session's update that the compiler made has the bits of the same tape run op by op, which serves all others.
#include <gtest/gtest.h>

#include "../models.hpp"
#include "../rules.hpp"

using namespace models;

namespace {

/// Remembers the last two parameters: results that are inputs as they were, and an op that no list names.
struct Tripled {
  static constexpr const char* name = "tripled";
  static constexpr int arity = 1;
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
/// The parameter and its state change places.
struct Exchanging {
  struct State {
    Var other;
  };
  constexpr Update<State> operator()(Var parameter, Var, State state) const { return {state.other, {parameter}}; }
};

/// Another program with another number.
struct Doubling {
  bool doubles = false;
  constexpr auto operator()(Var parameter, Var gradient, NoState) const {
    return update(doubles ? parameter - 2.0 * gradient : parameter - gradient, NoState{});
  }
};
/// Nothing that the compiler can run.
struct AtRunTime {
  auto operator()(Var parameter, Var gradient, NoState) const { return update(parameter - gradient, NoState{}); }
};

static_assert(UpdatesByElement<WeightDecay<Lookahead<Ema<ClipByValue<NAdam>>>>>);
static_assert(!UpdatesByElement<ClipByGlobalNorm<Sgd>> && !UpdatesByElement<Lamb>, "elements need others");
static_assert(UpdatesByElement<Exchanging> && !UpdatesByElement<Remembering> && !UpdatesByElement<AtRunTime>);

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
      ours[i] = theirs[i] = i < 2 ? numbers(static_cast<std::size_t>(n), static_cast<unsigned>(i)) : std::vector<float>(static_cast<std::size_t>(n));
    const std::vector<Scalar> scalars = tape.scalars;
    auto compiled = ElementwiseUpdate<TypeParam>::of(device, tape, n);
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
      by_ops.run(their_places);
      for (std::size_t i = 0; i < arrays; ++i)
        EXPECT_EQ(differing_bits(std::as_bytes(std::span(ours[i])), std::as_bytes(std::span(theirs[i]))), 0)
            << "array " << i << " of " << n << " after " << step << " steps";
    }
  }
}

/// Two updates by a rule of two elements with gradient (1, 2) in a window of weight 1; state i begins with (10 + i, 20 + i).
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
  for (int step = 0; step < 2; ++step) update.run(Cpu::Queue(1), places.data(), 1, step, Evaluation::second);
  arrays.erase(arrays.begin() + 1);
  return arrays;
}

TEST(EagerUpdate, RunsOpByOpWhatTheCompilerDoesNotMake) {
  using Arrays = std::vector<std::vector<float>>;
  EXPECT_EQ(two_updates(Exchanging{}), (Arrays{{3, 5}, {10, 20}}));
  EXPECT_EQ(two_updates(AtRunTime{}), (Arrays{{1, 1}}));
  EXPECT_EQ(two_updates(Doubling{false}), (Arrays{{1, 1}}));
  EXPECT_EQ(two_updates(Doubling{true}), (Arrays{{-1, -3}}));
  const float third = 3.0f * 0.1f, sixth = 6.0f * 0.1f, a = 3 - third - 0.5f, b = 5 - sixth - 0.5f;
  EXPECT_EQ(two_updates(Remembering{}), (Arrays{{a - third + (3 - 10) * 0.5f, b - sixth + (5 - 20) * 0.5f}, {a, b}, {3, 5}}));
}

}  // namespace
