// A tape with more inputs, or more ranges of labels, than the compiler has room for at first is made again, whole: as recorded,
// and keeping less.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include <gradual/gradual.hpp>

namespace beyond_room_test {

using namespace gradual;

constexpr Counts room = detail::TapeInRoom::room;

/// A layer of the sum of all inputs, four times, and the distance of its outputs from the last input.
struct ManyInputs {
  nn::Linear layer;
  constexpr explicit ManyInputs(Scope s) : layer(s / "layer", 3, 3) {}
  constexpr Loss loss(auto first, auto... others) const {
    const std::array further{others...};
    Var x = first;
    for (const Var other : further) x = x + other;
    for (int i = 0; i < 4; ++i) x = tanh(layer(x));
    return {mse(x, further.back())};
  }
};
template <std::size_t>
using Input = f32[3];
template <std::size_t... I>
Compiled<ManyInputs, Inputs<Input<I>...>> net_of(std::index_sequence<I...>);
using Wide = decltype(net_of(std::make_index_sequence<room.inputs + 1>()));

/// Four layers that tell the classes of many columns of labels.
struct ManyLabels {
  nn::Linear layer;
  constexpr explicit ManyLabels(Scope s) : layer(s / "layer", 3, 3) {}
  constexpr Loss loss(Var x, Var labels) const {
    for (int i = 0; i < 4; ++i) x = tanh(layer(x));
    Var sum;
    for (std::int64_t c = 0; c < labels.shape().extent[1]; ++c) {
      const Var of_column = cross_entropy(x, select(labels, 1, c));
      sum = sum.valid() ? sum + of_column : of_column;
    }
    return {sum};
  }
};
using Labelled = Compiled<ManyLabels, Inputs<f32[3], i32[room.label_ranges + 1]>>;

static_assert(Wide::Training::graph.counts.inputs > room.inputs);
static_assert(Labelled::Training::graph.counts.label_ranges > room.label_ranges);

/// Whether two tapes are the same. Both must be made by the compiler: programs may evaluate operands in another order.
constexpr bool are_same(const Tape& a, const Tape& b) {
  bool same = a.size() == b.size() && a.inputs.size() == b.inputs.size() && a.roots.size() == b.roots.size();
  for (int i = 0; same && i < b.size(); ++i) same = detail::same_computation(a[i], b[i]);
  for (std::size_t i = 0; same && i < b.inputs.size(); ++i) same = a.inputs[i].shape == b.inputs[i].shape;
  for (std::size_t i = 0; same && i < b.roots.size(); ++i) same = a.roots[i].node == b.roots[i].node;
  return same && a.label_ranges == b.label_ranges && a.first_adjoint == b.first_adjoint;
}

template <class Net>
class BeyondRoom : public testing::Test {};
using Nets = testing::Types<Wide, Labelled>;
TYPED_TEST_SUITE(BeyondRoom, Nets);

TYPED_TEST(BeyondRoom, NothingIsLost) {
  constexpr bool same = are_same(thaw(TypeParam::Training::graph), simplify(TypeParam::Training::trace()));
  EXPECT_TRUE(same);
}

TYPED_TEST(BeyondRoom, NothingIsLostOfWhatKeepsLess) {
  using Saving = typename TypeParam::template Keeping<30>::Training;
  constexpr bool same = are_same(thaw(Saving::graph), recompute(simplify(TypeParam::Training::trace()), 30));
  EXPECT_TRUE(same);
  EXPECT_GT(Saving::nodes, TypeParam::Training::nodes);
}

}  // namespace beyond_room_test
