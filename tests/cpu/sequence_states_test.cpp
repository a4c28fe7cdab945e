// Recurrent layers that go on from a state: over the rest of a sequence, or step by step.
#include <gradual/gradual.hpp>
#include <gtest/gtest.h>

#include "../initial_parameters.hpp"
#include "../kernels.hpp"

namespace sequence_states_test {

using namespace gradual;

/// A model of whole sequences, and one of their next step that has its parameters: what it is told of those before is what
/// it gave itself.
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
    std::vector<Var> result = second(stack(begun, 1), {{}, state.c});  // what is not given is 0
    for (const Var h : begun) state = second.step(h, state);
    for (const Var h : second(stack(ended, 1), state)) result.push_back(h);
    return stack(result, 1);
  }
  constexpr Loss loss(Var x, Var y) const { return {mse(output(select(predict(x), 1, -1)), y)}; }
};

TEST(SequenceLayers, GoOnFromAStateToTheSameBits) {
  using Whole = Compiled<Sequence, Inputs<f32[steps][in], f32[2]>>;
  using Next = Compiled<NextStep, Inputs<f32[in], f32[3 * width], f32[2]>>;
  constexpr std::size_t batch = 9;
  const std::vector<float> parameters = initial_parameters<Whole>(0);
  const std::vector<float> x = kernels::numbers<float>(batch * steps * in, 1);
  std::vector<float> whole(batch * steps * width), halves(whole.size()), told(batch * 3 * width), next(told.size());
  Inference<Whole>(parameters, batch)(x, whole);
  Inference<Compiled<Halves, Inputs<f32[steps][in], f32[2]>>>(parameters, batch)(x, halves);
  EXPECT_EQ(whole, halves);
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

}  // namespace sequence_states_test
