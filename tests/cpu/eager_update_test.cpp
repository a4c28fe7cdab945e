// An update that runs a chunk at a time has the bits of the same tape run op by op.
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

template <class Rule>
class ChunkedUpdate : public testing::Test {};
using Elementwise = testing::Types<Sgd, Adam, AdamW, NAdam, RAdam, AmsGrad, Adamax, RmsProp, Adagrad, Adadelta, Lion, Ema<Adam>,
                                   Lookahead<ClipByValue<Sgd>>, WeightDecay<Adam>, Remembering, Exchanging>;
TYPED_TEST_SUITE(ChunkedUpdate, Elementwise);

TYPED_TEST(ChunkedUpdate, HasTheBitsOfSingleOps) {
  constexpr std::size_t arrays = 2 + gradual::detail::state_size<StateOf<TypeParam>>();
  for (const std::int64_t n : {1, 511, 512, 1300}) {
    const Device device = Device::cpu();
    const Tape tape = trace_update(TypeParam{}, n);
    ASSERT_TRUE(eager::ElementwiseReplay::suits(tape, n));
    eager::ElementwiseReplay chunked(device, tape, OpsFor<TypeParam>{});
    eager::Replay single(device, tape, OpsFor<TypeParam>{});
    std::vector<float> a[arrays], scalars(tape.scalars.size());
    const auto count = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < arrays; ++i) a[i] = i < 2 ? numbers(count, static_cast<unsigned>(i)) : std::vector<float>(count);
    for (int step = 0; step < 3; ++step) {
      for (std::size_t s = rule_scalars; s < scalars.size(); ++s) scalars[s] = static_cast<float>(tape.scalars[s].at(step));
      scalars[window_weight] = static_cast<float>(2 * step + 1), scalars[step_count] = static_cast<float>(step + 1);
      single.executor().reset(1);
      single.executor().expect(tape.size());
      for (const auto& array : a) single.executor().bind_input(array.data());
      single.executor().bind_scalars(scalars.data());
      single.run();
      std::vector<Tensor> expected;
      for (std::size_t r = 0; r < tape.roots.size(); ++r) expected.push_back(single.root(r));
      chunked.run(scalars.data(), n, [&](std::int64_t i) { return a[i].data(); });
      for (std::size_t r = 0; r < tape.roots.size(); ++r) {
        const std::span<const float> wanted = expected[r].template values<float>(), got = a[tape.roots[r].index];
        EXPECT_EQ(differing_bits(std::as_bytes(wanted), std::as_bytes(got)), 0)
            << "array " << tape.roots[r].index << " of " << n << " after " << step << " steps";
      }
    }
  }
}

TEST(ChunkedUpdate, DoesNotSuitNorms) {
  EXPECT_FALSE(eager::ElementwiseReplay::suits(trace_update(ClipByGlobalNorm{Sgd{}}, 100), 100));
  EXPECT_FALSE(eager::ElementwiseReplay::suits(trace_update(Lamb{}, 100), 100));
}

}  // namespace
