// Parameters that are replaced inside a window, after which values of parameters alone are those of the new ones; and, by
// name, from another net.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../models.hpp"

namespace replaced_parameters_test {

using namespace models;

/// Weights that are derived once per window, and a penalty, computed at its end, of the same exponential and other terms.
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
  for (const std::int64_t noise_batch : {0, 2, 4})  // noise reads gradients within the window
    for (const std::int64_t micro_batch : {1, 2, 8}) {
      const SessionOptions options{.global_batch = 8, .micro_batch = micro_batch, .noise_batch = noise_batch};
      EXPECT_EQ(compiled(options), expected) << noise_batch << ", " << micro_batch;
      EXPECT_EQ(resumed(options), expected) << noise_batch << ", " << micro_batch;
      EXPECT_EQ(eager(options), expected) << noise_batch << ", " << micro_batch;
    }
}

/// A body of two layers, and a head with `Outputs` outputs.
template <int Outputs>
struct Headed {
  nn::Linear first, second, head;
  constexpr explicit Headed(Scope s)
      : first(s / "body" / "first", 4, 6), second(s / "body" / "second", 6, 3), head(s / "head", 3, Outputs) {}
  constexpr Loss loss(Var in) const { return sum(square(head(tanh(second(tanh(first(in)))))), {1}); }
};
template <int Outputs>
using HeadedNet = Compiled<Headed<Outputs>, Inputs<f32[4]>>;
constexpr std::size_t body = 4 * 6 + 6 + 6 * 3 + 3;

std::vector<float> values_of(const auto& session) {
  const auto values = session.parameters().values();
  return {values.begin(), values.end()};
}

/// Expects a pretrained body to be taken, and nothing else, and wrong names and shapes to be refused.
void expect_body(auto& session, const auto& from, const std::vector<float>& pretrained) {
  const std::vector<float> before = values_of(session);
  const auto refusal = [&](const char* pattern) {
    const std::string words = error_of<Error>([&] { session.set_parameters(from, pattern); });
    EXPECT_EQ(values_of(session), before);
    return words;
  };
  EXPECT_EQ(refusal("bodies/*"),
            "set_parameters: no parameter is named 'bodies/*'; there are 'body/first/weight', 'body/first/bias', "
            "'body/second/weight', 'body/second/bias', 'head/weight', 'head/bias'");
  EXPECT_EQ(refusal("*"), "set_parameters: 'head/weight' is [3, 2], the given one [3, 5]");
  session.set_parameters(from, "body/*");
  std::vector<float> expected = before;
  std::copy_n(pretrained.begin(), body, expected.begin());
  EXPECT_EQ(values_of(session), expected);
}

TEST(ReplacedParameters, AreThoseOfAnotherNetByName) {
  Session pretrained(HeadedNet<5>{}, Accumulate{Sgd{}}, {.global_batch = 8, .seed = 1});
  pretrained.accumulate(x);
  ASSERT_EQ(pretrained.step_count(), 1);
  Session session(HeadedNet<2>{}, Accumulate{Sgd{}}, {.global_batch = 8, .seed = 2});
  expect_body(session, pretrained.parameters(), values_of(pretrained));
  Session with_none_of_it(Net{}, Accumulate{Sgd{}}, {.global_batch = 8});
  EXPECT_EQ(error_of<OptionError>([&] { session.set_parameters(with_none_of_it.parameters(), "head/*"); }),
            "no parameter is named 'head/weight'; there are 'weight'");

  Parameters parameters(Device::cpu());
  const Headed<2> model(parameters.root());
  Session eager(parameters, Accumulate{Sgd{}}, {.global_batch = 8, .seed = 2});
  expect_body(eager, pretrained.parameters(), values_of(pretrained));
  Session from_eager(HeadedNet<2>{}, Accumulate{Sgd{}}, {.global_batch = 8, .seed = 3});
  from_eager.set_parameters(parameters, "*");
  EXPECT_EQ(values_of(from_eager), values_of(eager));
}

}  // namespace replaced_parameters_test
