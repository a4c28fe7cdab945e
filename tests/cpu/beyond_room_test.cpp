// A tape with more inputs than the compiler has room for at first is made again, whole: as recorded, and keeping less.
#include <gtest/gtest.h>

#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include <gradual/gradual.hpp>

namespace beyond_room_test {

using namespace gradual;

constexpr std::size_t inputs = detail::Recorded::room.inputs + 1;

/// A layer of the sum of all inputs, four times, and the distance of its outputs from the last input.
struct Model {
  nn::Linear layer;
  constexpr explicit Model(Scope s) : layer(s / "layer", 3, 3) {}
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
Compiled<Model, Inputs<Input<I>...>> net_of(std::index_sequence<I...>);
using Net = decltype(net_of(std::make_index_sequence<inputs>()));
using Saving = Net::Keeping<30>;
static_assert(Net::Training::graph.counts.inputs == inputs && Saving::Training::graph.counts.inputs == inputs);
static_assert(Saving::Training::nodes > Net::Training::nodes);

/// Returns the parameters after a window of five samples, of which one input is larger than usual (−1: none).
template <class N>
std::vector<std::byte> learned(int larger = -1) {
  constexpr std::int64_t samples = 5;
  std::array<std::vector<float>, inputs> x;
  for (std::size_t i = 0; i < inputs; ++i)
    for (int k = 0; k < 3 * samples; ++k)
      x[i].push_back(0.01f * static_cast<float>((k * 7 + static_cast<int>(i)) % 11) +
                     (static_cast<int>(i) == larger ? 0.1f : 0.0f));
  Session session(N{}, Accumulate{Sgd{.learning_rate = 0.5f}}, {.global_batch = samples});
  std::apply([&](const auto&... columns) { session.accumulate(columns...); }, x);
  const auto parameters = session.parameter_bytes();
  return {parameters.begin(), parameters.end()};
}

TEST(BeyondRoom, EachInputCounts) {
  const auto usual = learned<Net>();
  for (int i = 0; i < static_cast<int>(inputs); ++i) EXPECT_NE(learned<Net>(i), usual) << i;
}

TEST(BeyondRoom, KeepingLessChangesNoBit) { EXPECT_EQ(learned<Saving>(), learned<Net>()); }

}  // namespace beyond_room_test
