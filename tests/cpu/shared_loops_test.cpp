// Groups that compute the same from values in different places share one code; groups that compute anything else never do.
#include <gtest/gtest.h>

#include "../both_ways.hpp"

namespace shared_loops_test {

using namespace both_ways;

/// The number of groups that are loops, and of the different codes that they run.
struct Codes {
  int loops = 0, different = 0;
};
template <class Net>
constexpr Codes codes_of() {
  using P = typename Net::Training;
  Codes codes;
  for (int g = 0; g < P::schedule.group_count; ++g) {
    if (P::schedule.groups[g].kind != Kind::map) continue;
    ++codes.loops;
    codes.different += loop_codes<P>.code[g] == g;
  }
  return codes;
}

constexpr int steps = 12;

struct Recurrent {
  nn::Gru gru;
  nn::Linear output;
  constexpr explicit Recurrent(Scope s) : gru(s / "gru", 2, 5), output(s / "output", 5, 3) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(gru(x).back()), y)}; }
};

/// Layers of equal widths, with computations between them that differ only by a number, a place or an op.
struct AlmostEqual {
  Parameter weight, narrow, wide;
  constexpr explicit AlmostEqual(Scope s)
      : weight(s.parameter("weight", Shape{6, 6}, init::uniform(0.6))),
        narrow(s.parameter("narrow", Shape{6, 5}, init::uniform(0.6))),
        wide(s.parameter("wide", Shape{5, 6}, init::uniform(0.6))) {}
  constexpr Loss loss(Var x, Var y) const {
    Var numbers = x, places = x, drawn = x, zeros = x;
    for (const double number : {0.5, 0.25, 0.5, 0.5, 0.5, 0.5, -0.5}) numbers = tanh(matmul(numbers, weight) + number);
    const Var of_five = matmul(tanh(matmul(numbers, narrow) + 0.5), wide);
    const Var op = sigmoid(matmul(numbers, weight) + 0.5);
    for (int place = 0; place < 5; ++place)
      places = matmul(places, weight) * broadcast(slice(places, 1, place, 1), places.shape());
    for (int i = 0; i < 5; ++i) drawn = dropout(matmul(drawn, weight), 0.2);
    for (const double zero : {0.0, -0.0, 0.0, 0.0, 0.0, -0.0}) {
      const Var product = matmul(zeros, weight);
      zeros = x * atan2(where(product > 0.25, product, zero), constant_like(x, -1));  // π or −π at a zero
    }
    return {mse(of_five + op + places, y) + mse(drawn, y) + mse(zeros, y)};
  }
};

using RecurrentNet = Compiled<Recurrent, Inputs<f32[steps][2], f32[3]>>;
using AlmostEqualNet = Compiled<AlmostEqual, Inputs<f32[6], f32[6]>>;

TEST(SharedLoops, StepsOfARecurrentNetHaveTheCodeOfAFew) {
  constexpr Codes codes = codes_of<RecurrentNet>();
  EXPECT_GT(codes.loops, 4 * steps - 4);
  EXPECT_LT(codes.different, 20);
}

template <class Model, class Net, class... Data>
void expect_equal_bits(const Data&... data) {
  const std::vector<float> whole = train_compiled<Net>({60}, 1, data...);
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 2, data...));
  EXPECT_EQ(whole, train_eager<Model>({60}, data...));
}

TEST(SharedLoops, CompiledAndEagerGiveEqualBits) {
  const Samples<float> series{numbers(samples * steps * 2), {steps, 2}}, three{numbers(samples * 3, 3), {3}};
  expect_equal_bits<Recurrent, RecurrentNet>(series, three);
  const Samples<float> x{numbers(samples * 6), {6}}, y{numbers(samples * 6, 3), {6}};
  expect_equal_bits<AlmostEqual, AlmostEqualNet>(x, y);
}

}  // namespace shared_loops_test
