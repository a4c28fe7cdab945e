// Random nets, compiled: a window's gradients have the bits of the reference interpreter, which runs the tape as
// recorded, and a step gives the same bits however the window is split.
#include <gtest/gtest.h>

#include <gradual/autodiff/print.hpp>
#include <gradual/autodiff/reference.hpp>
#include <cstdio>
#include <sstream>

#include "../models.hpp"
#include "../random_net.hpp"

namespace random_net {
namespace {

constexpr std::int64_t window = 150;  // a closed block of 128 and an open one
constexpr std::uint64_t seed = 5;
const std::vector<float> images = models::numbers(window * 60);
const std::vector<std::int32_t> read = models::labels(window * tokens, words),
                                label = models::labels(window, classes);

std::vector<float> as_floats(const std::vector<std::int32_t>& values) { return {values.begin(), values.end()}; }

/// Returns the bits of numbers, with one pattern for all NaNs.
std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float x : values) bits.push_back(x == x ? std::bit_cast<std::uint32_t>(x) : 0x7fc00000u);
  return bits;
}

struct Outcome {
  std::vector<std::uint32_t> gradient, parameters;
};

template <class Net>
Outcome train(const std::vector<std::int64_t>& parts, std::int64_t micro) {
  Session session(Net{}, Accumulate{Sgd{.learning_rate = 0.1f}},
                  {.global_batch = window, .micro_batch = micro, .seed = seed});
  std::int64_t begin = 0;
  for (const std::int64_t count : parts) {
    const auto part = [&](const auto& all, std::int64_t unit) {
      return std::span(all).subspan(static_cast<std::size_t>(begin * unit), static_cast<std::size_t>(count * unit));
    };
    session.accumulate(part(images, 60), part(read, tokens), part(label, 1));
    begin += count;
  }
  EXPECT_EQ(session.step_count(), 1);
  return {bits_of(session.accumulator()), bits_of(session.parameters().values())};
}

/// Returns the gradients of one window, computed by the interpreter.
template <class Net>
std::vector<std::uint32_t> expected_gradient() {
  const Session start(Net{}, Accumulate{Sgd{}}, {.global_batch = 1, .seed = seed});
  std::vector<std::vector<float>> parameters;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const auto values = start.parameters()[p].values;
    parameters.emplace_back(values.begin(), values.end());
  }
  const Tape tape = Net::Training::trace();
  const std::vector<std::vector<float>> inputs = {images, as_floats(read), as_floats(label)};
  const auto gradient = [&](std::vector<float> scalars) {
    const Reference<float> reference(tape, window, inputs, parameters, scalars, {.on = true, .seed = seed});
    double weight = 0;
    for (int i = 0; i < window; ++i)
      weight += Net::Training::root(Role::weight) < 0 ? 1 : reference.root(Role::weight)[static_cast<std::size_t>(i)];
    std::vector<float> result;
    for (int p = 0; p < Net::parameter_count; ++p) {
      const std::vector<float>& g = reference.root(Role::gradient, p);
      result.insert(result.end(), g.begin(), g.end());
    }
    return std::pair(result, static_cast<float>(weight));
  };
  const float weight = gradient(std::vector<float>(tape.scalars.size(), 1.0f)).second;  // by which terms are multiplied
  return bits_of(gradient(std::vector<float>(tape.scalars.size(), weight)).first);
}

/// Compiles the net of a seed and trains it for one window.
template <std::uint64_t Seed>
void expect_bits() {
  using Net = Compiled<RandomNet<Seed, 8>, NetInputs>;
  std::ostringstream net;
  net << "seed " << Seed << ":\n" << Net::Training::trace();
  SCOPED_TRACE(net.str());
  const Outcome whole = train<Net>({window}, window);
  EXPECT_EQ(whole.gradient, expected_gradient<Net>());
  for (const auto& [parts, micro] :
       {std::pair<std::vector<std::int64_t>, std::int64_t>{{window}, 64}, {{7, 100, 1, 42}, window}}) {
    const Outcome cut = train<Net>(parts, micro);
    EXPECT_EQ(cut.gradient, whole.gradient) << parts.size() << " parts, micro-batches of " << micro;
    EXPECT_EQ(cut.parameters, whole.parameters) << parts.size() << " parts, micro-batches of " << micro;
  }
}

template <std::uint64_t... Seeds>
void expect_bits_of(std::integer_sequence<std::uint64_t, Seeds...>) {
  (expect_bits<Seeds>(), ...);
  std::printf("swept: %zu compiled random nets x 3 splits\n", sizeof...(Seeds));
}

TEST(CompiledRandomNets, HaveTheBitsOfTheReference) {
  expect_bits_of(std::integer_sequence<std::uint64_t, 3, 6, 9, 12, 14, 15, 17, 19, 21, 23, 24, 35>{});
}

}  // namespace
}  // namespace random_net
