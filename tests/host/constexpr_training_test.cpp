// The compiler trains XOR by the reference interpreter; the compiled step ends in the same bits at run time.
#include <gtest/gtest.h>

#include <array>

#include <gradual/autodiff/reference.hpp>
#include <gradual/gradual.hpp>

namespace constexpr_training_test {

using namespace gradual;

struct Xor {
  nn::Linear hidden, output;
  constexpr explicit Xor(Scope s) : hidden(s / "hidden", 2, 4), output(s / "output", 4, 1) {}
  constexpr Var predict(Var x) const { return output(tanh(hidden(x))); }
  constexpr Loss loss(Var x, Var y) const {
    Var error = predict(x) - y;
    return {mean(error * error, {-1})};
  }
};
using Net = Compiled<Xor, Inputs<f32[2], f32[1]>>;

constexpr Sgd rule{.learning_rate = 0.25f, .momentum = 0.875f};
constexpr std::size_t elements = Net::parameter_elements;
static_assert(elements == 17);

constexpr std::array<float, 8> inputs{0, 0, 0, 1, 1, 0, 1, 1};
constexpr std::array<float, 4> targets{0, 1, 1, 0};

struct State {
  std::array<float, elements> parameters{}, velocity{};
};
constexpr State start{{0.5f, -0.75f, 0.25f, 1.0f, -0.5f, 0.625f, 0.75f, -1.0f, 0, 0.25f, -0.25f, 0.125f, 0.5f, -0.5f,
                       0.75f, 0.25f, 0.0f}, {}};

template <class Array>
constexpr std::vector<float> list(const Array& a, std::size_t begin = 0, std::size_t count = ~std::size_t{0}) {
  if (count == ~std::size_t{0}) count = a.size();
  return {a.begin() + static_cast<std::ptrdiff_t>(begin), a.begin() + static_cast<std::ptrdiff_t>(begin + count)};
}

constexpr State step(const State& from, int number) {
  std::vector<std::vector<float>> parameters;
  for (int p = 0; p < Net::parameter_count; ++p)
    parameters.push_back(list(from.parameters, static_cast<std::size_t>(Net::parameter_offset(p)),
                              static_cast<std::size_t>(Net::parameter(p).shape.unit())));
  const Tape tape = thaw(Net::Training::graph);
  const Reference<float> training(tape, 4, {list(inputs), list(targets)}, parameters);
  std::vector<float> gradient;
  for (int p = 0; p < Net::parameter_count; ++p)
    for (float g : training.root(Role::gradient, p)) gradient.push_back(g);

  std::vector<float> scalars;
  for (const Scalar& s : trace_update(rule, Net::parameter_elements).scalars)
    scalars.push_back(static_cast<float>(s.at(number)));
  scalars[window_weight] = 4;
  scalars[step_count] = static_cast<float>(number + 1);
  const Tape update_tape = thaw(Net::UpdateOf<Sgd>::graph);
  const Reference<float> update(update_tape, Net::parameter_elements,
                                {list(from.parameters), gradient, list(from.velocity)}, {}, scalars);
  State to;
  for (std::size_t i = 0; i < elements; ++i) {
    to.parameters[i] = update.root(Role::value, 0)[i];
    to.velocity[i] = update.root(Role::value, 2)[i];
  }
  return to;
}

// One step for each constant keeps every evaluation within clang's limit.
template <int K>
struct After {
  static constexpr State state = step(After<K - 1>::state, K - 1);
};
template <>
struct After<0> {
  static constexpr State state = start;
};
constexpr State trained = After<80>::state;

constexpr float prediction(const State& s, std::size_t sample) {
  std::vector<std::vector<float>> parameters;
  for (int p = 0; p < Net::parameter_count; ++p)
    parameters.push_back(list(s.parameters, static_cast<std::size_t>(Net::parameter_offset(p)),
                              static_cast<std::size_t>(Net::parameter(p).shape.unit())));
  const Tape tape = thaw(Net::Prediction::graph);
  return Reference<float>(tape, 1, {list(inputs, 2 * sample, 2)}, parameters).root(Role::prediction)[0];
}

constexpr bool learned_xor() {
  for (std::size_t i = 0; i < 4; ++i)
    if ((prediction(trained, i) > 0.5f) != (targets[i] > 0.5f)) return false;
  return true;
}
static_assert(learned_xor(), "the compiler did not learn XOR");

TEST(ConstexprTraining, TheCompiledStepEndsInTheBitsThatTheCompilerFound) {
  Session session(Net{}, Accumulate{rule}, {.global_batch = 4});
  std::copy(start.parameters.begin(), start.parameters.end(), session.parameters().values().begin());
  for (int i = 0; i < 80; ++i)
    for (std::size_t at = 0; at < 4; at += 2)
      session.accumulate(std::span(inputs).subspan(2 * at, 4), std::span(targets).subspan(at, 2));
  for (std::size_t i = 0; i < elements; ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(session.parameters().values()[i]),
              std::bit_cast<std::uint32_t>(trained.parameters[i]));
}

}  // namespace constexpr_training_test
