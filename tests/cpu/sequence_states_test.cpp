// Recurrent layers that continue from a state: over the rest of a sequence, or step by step.
#include <gradual/gradual.hpp>
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../initial_parameters.hpp"
#include "../kernels.hpp"

namespace sequence_states_test {

using namespace gradual;

/// A model of whole sequences, and one of their next step with the same parameters, which is told its own output for the
/// steps before.
constexpr int in = 3, width = 5, steps = 7;
struct Sequence {
  nn::Gru first;
  nn::Lstm second;
  nn::Linear output;
  constexpr explicit Sequence(Scope s)
      : first(s / "first", in, width), second(s / "second", width, width), output(s / "output", width, 2) {}
  constexpr Var predict(Var x) const { return stack(second(stack(first(x), 1)), 1); }
  constexpr Loss loss(Var x, Var y) const { return {mse(output(select(predict(x), 1, -1)), y)}; }
};
struct NextStep : Sequence {
  using Sequence::Sequence;
  constexpr Var predict(Var x, Var told) const {
    const auto [h1, h2, c2] = split<3>(told);
    const Var h = first.step(x, h1);
    const nn::Lstm::State state = second.step(h, {h2, c2});
    return concat({h, state.h, state.c}, 1);
  }
  constexpr Loss loss(Var x, Var told, Var y) const { return {mse(output(split<3>(predict(x, told))[1]), y)}; }
};
/// The second half of a sequence, from the state in which the first one ended.
struct Halves : Sequence {
  using Sequence::Sequence;
  constexpr Var predict(Var x) const {
    const Var early = slice(x, 1, 0, 3), late = slice(x, 1, 3, steps - 3);
    const std::vector<Var> begun = first(early), ended = first(late, begun.back());
    nn::Lstm::State state{constant_like(begun[0], 0), constant_like(begun[0], 0)};
    std::vector<Var> result = second(stack(begun, 1), {{}, state.c});  // a missing state is 0
    for (const Var h : begun) state = second.step(h, state);
    for (const Var h : second(stack(ended, 1), state)) result.push_back(h);
    return stack(result, 1);
  }
};

TEST(SequenceLayers, GoOnFromAStateToTheSameBits) {
  using Whole = Compiled<Sequence, Inputs<f32[steps][in], f32[2]>>;
  using Next = Compiled<NextStep, Inputs<f32[in], f32[3 * width], f32[2]>>;
  constexpr std::size_t batch = 9;
  const std::vector<float> parameters = initial_parameters<Whole>(0);
  const std::vector<float> x = kernels::numbers<float>(batch * steps * in, 1);
  std::vector<float> whole(batch * steps * width), told(batch * 3 * width), next(told.size());
  Inference<Whole>(parameters, batch)(x, whole);
  Parameters same(Device::cpu());
  const Halves halves(same.root());
  same.initialize(0);
  EagerTape tape(same, batch);
  EXPECT_TRUE(std::ranges::equal(whole, value(halves.predict(tape.input(x, {steps, in}))).values<float>()));
  Inference<Next> step(parameters, 4);
  for (std::size_t t = 0; t < steps; ++t) {
    std::vector<float> now;
    for (std::size_t b = 0; b < batch; ++b) now.insert(now.end(), &x[(b * steps + t) * in], &x[(b * steps + t) * in] + in);
    step(now, told, next);
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t j = 0; j < width; ++j)
        EXPECT_EQ(whole[(b * steps + t) * width + j], next[b * 3 * width + width + j]) << t << ", " << b << ", " << j;
    told.swap(next);
  }
}

/// Attention over whole sequences, and at their next position, which sees the kept keys and values, with room for more
/// positions than sequences have.
constexpr int kept_positions = 2 * steps;
struct Attentive {
  nn::MultiHeadAttention attention;
  constexpr explicit Attentive(Scope s) : attention(s / "attention", 6, 2, nn::Attend::backward) {}
  constexpr Var predict(Var x) const { return attention(x); }
};
struct NextPosition : Attentive {
  using Attentive::Attentive;
  constexpr Var predict(Var x, Var keys, Var values, Var place) const {
    const auto [y, kept] = attention.step(x, {keys, values}, place);
    return concat({flatten(kept.keys), flatten(kept.values), y}, 1);
  }
};

TEST(SequenceLayers, AttendToWhatWasKeptToTheSameBits) {
  using Whole = Compiled<Attentive, Inputs<f32[steps][6]>>;
  using Next = Compiled<NextPosition, Inputs<f32[6], f32[kept_positions][6], f32[kept_positions][6], i32>>;
  constexpr std::size_t batch = 3, kept = kept_positions * 6;
  const std::vector<float> parameters = initial_parameters<Whole>(0), x = kernels::numbers<float>(batch * steps * 6, 1);
  std::vector<float> whole(batch * steps * 6), next(batch * (2 * kept + 6));
  Inference<Whole>(parameters, batch)(x, whole);
  Inference<Next> step(parameters, 2);
  std::vector<float> keys = kernels::numbers<float>(batch * kept, 2), values = kernels::numbers<float>(batch * kept, 3);  // of others
  const auto take = [&](std::int64_t t, std::size_t b) {  // sample b lags b positions behind the first
    return std::clamp<std::int64_t>(t - static_cast<std::int64_t>(b), 0, steps - 1);
  };
  std::vector<std::int32_t> place(batch);
  for (std::int64_t t = 0; t < steps + std::ssize(place) - 1; ++t) {
    std::vector<float> now;
    for (std::size_t b = 0; b < batch; ++b) {
      place[b] = static_cast<std::int32_t>(take(t, b));
      const auto of_place = std::span(x).subspan((b * steps + static_cast<std::size_t>(place[b])) * 6, 6);
      now.insert(now.end(), of_place.begin(), of_place.end());
    }
    step(now, keys, values, place, next);
    for (std::size_t b = 0; b < batch; ++b) {
      const auto got = std::span(next).subspan(b * (2 * kept + 6), 2 * kept + 6);
      std::ranges::copy(got.first(kept), &keys[b * kept]);
      std::ranges::copy(got.subspan(kept, kept), &values[b * kept]);
      const auto expected = std::span(whole).subspan((b * steps + static_cast<std::size_t>(place[b])) * 6, 6);
      EXPECT_TRUE(std::ranges::equal(got.last(6), expected)) << t << ", " << b;
    }
  }
  place[1] = kept_positions;
  EXPECT_EQ(error_of<DataError>([&] { step(std::vector<float>(batch * 6), keys, values, place, next); }),
            "input 3, sample 1: index 14 is outside the 14 places 0 to 13");
}

TEST(SequenceLayers, RefuseToAttendToOtherThings) {
  Parameters parameters(Device::cpu());
  const nn::MultiHeadAttention everywhere(parameters.root() / "everywhere", 6, 2);
  const nn::MultiHeadAttention backward(parameters.root() / "backward", 6, 2, nn::Attend::backward);
  parameters.initialize(1);
  EagerTape tape(parameters, 2);
  const std::vector<float> numbers(2 * 5 * 6);
  const std::vector<std::int32_t> zeros(2);
  const Var x = tape.input(std::span(numbers).first(12), {6}), kept = tape.input(numbers, {5, 6});
  const Var other = tape.input(std::span(numbers).first(2 * 4 * 6), {4, 6}), place = tape.input(zeros);
  EXPECT_EQ(error_of<ShapeError>([&] { everywhere.step(x, {kept, kept}, place); }),
            "attention: a step sees only what comes before it: use Attend::backward");
  EXPECT_EQ(error_of<ShapeError>([&] { backward.step(x, {kept, other}, place); }),
            "attention: a step needs [batch, width], keys and values of [batch, positions, width] and places of [batch], got "
            "[batch, 6], [batch, 5, 6], [batch, 4, 6] and [batch]");
  EXPECT_EQ(error_of<TypeError>([&] { backward.step(x, {kept, kept}, select(x, 1, 0)); }),
            "attention: indices are int32, got float");
  EXPECT_TRUE(backward.step(x, {kept, kept}, place).y.valid());
}

}  // namespace sequence_states_test
