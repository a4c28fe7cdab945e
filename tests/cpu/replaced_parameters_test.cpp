// Parameters that are replaced inside a window: what is computed of them alone is computed of the new ones.
#include <gtest/gtest.h>

#include "../models.hpp"

namespace replaced_parameters_test {

using namespace models;

/// Weights that are derived once per window, and a penalty that its end computes, of the same exponential and of more.
struct Exponential {
  Parameter weight;
  constexpr explicit Exponential(Scope s) : weight(s.parameter("weight", Shape{4}, init::normal(1))) {}
  constexpr Loss loss(Var x) const {
    const Var w = weight.on(x);
    return Loss(sum(square(x * exp(w)), {1})).plus(sum(exp(w) * tanh(w) + abs(w), {0}));
  }
};
using Net = Compiled<Exponential, Inputs<f32[4]>>;

const std::vector<float> x = numbers(8 * 4), others = {0.5f, -0.25f, 0.125f, 1.0f};

template <class S, class F>
std::vector<float> stepped(S& session, F give) {
  give(0, 4);
  session.set_parameters(others);
  give(4, 4);
  EXPECT_EQ(session.step_count(), 1);
  return {session.parameters().values().begin(), session.parameters().values().end()};
}

std::vector<float> compiled(SessionOptions options) {
  Session session(Net{}, Accumulate{Sgd{}}, options);
  return stepped(session, [&](std::size_t first, std::size_t count) {
    session.accumulate(std::span(x).subspan(first * 4, count * 4));
  });
}

std::vector<float> resumed(SessionOptions options) {
  Session first(Net{}, Accumulate{Sgd{}}, options), second(Net{}, Accumulate{Sgd{}}, options);
  first.accumulate(std::span(x).first(16));
  first.set_parameters(others);
  second.restore(first.state());
  second.accumulate(std::span(x).last(16));
  return {second.parameters().values().begin(), second.parameters().values().end()};
}

std::vector<float> eager(SessionOptions options) {
  Parameters parameters(Device::cpu());
  const Exponential model(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, options);
  return stepped(session, [&](std::size_t first, std::size_t count) {
    session.accumulate(static_cast<std::int64_t>(count), [&](EagerTape& tape) {
      return model.loss(tape.input(std::span(x).subspan(first * 4, count * 4), Shape{4}));
    });
  });
}

TEST(ReplacedParameters, AreThoseThatTheWindowEndsWith) {
  const std::vector<float> expected = compiled({.global_batch = 8});
  for (const std::int64_t noise_batch : {0, 2, 4})  // which looks at gradients within the window
    for (const std::int64_t micro_batch : {1, 2, 8}) {
      const SessionOptions options{.global_batch = 8, .micro_batch = micro_batch, .noise_batch = noise_batch};
      EXPECT_EQ(compiled(options), expected) << noise_batch << ", " << micro_batch;
      EXPECT_EQ(resumed(options), expected) << noise_batch << ", " << micro_batch;
      EXPECT_EQ(eager(options), expected) << noise_batch << ", " << micro_batch;
    }
}

}  // namespace replaced_parameters_test
