// Inspecting a value inside a net: the bits that the compiled net computes, which is not affected.
#include <gtest/gtest.h>

#include <sstream>

#include "../models.hpp"

namespace tapped_test {

using namespace models;

/// The classifier of other tests with dropout, and with taps if `Taps`.
template <bool Taps>
struct Watched {
  nn::Linear hidden, output;
  constexpr explicit Watched(Scope s) : hidden(s / "hidden", 9, 17), output(s / "output", 17, 5) {}
  static constexpr Var seen(Var x, std::string_view name) {
    if constexpr (Taps)
      return tap(x, name);
    else
      return x;
  }
  constexpr Var predict(Var x) const { return seen(output(seen(dropout(relu(hidden(x)), 0.5), "hidden")), "scores"); }
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = predict(x);
    seen(argmax(scores), "class");
    return {seen(cross_entropy(scores, label), "loss")};
  }
};
using Net = Compiled<Watched<true>, Inputs<f32[9], i32>>;
using Unwatched = Compiled<Watched<false>, Inputs<f32[9], i32>>;

static_assert(Net::Training::nodes == Unwatched::Training::nodes);
static_assert(Net::training_memory(Sgd{}, 32).total() == Unwatched::training_memory(Sgd{}, 32).total());

const auto x = numbers(12 * 9);
const auto y = labels(12, 5);

std::vector<float> parameters_of() {
  const Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = 12, .seed = 4});
  const auto parameters = session.parameters();
  return {parameters.values().begin(), parameters.values().end()};
}

TEST(Tapped, ShowsTheBitsOfInference) {
  const auto parameters = parameters_of();
  const Tapped seen = tapped<Net>(parameters, x, y);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen["hidden"].shape(), (Shape{12, 17}));
  std::vector<float> scores(12 * 5);
  Inference<Net> classify(parameters, 7);
  classify(x, scores);
  EXPECT_EQ(differing_bits(std::as_bytes(seen["scores"].values<float>()), std::as_bytes(std::span(scores))), 0);
  for (std::size_t s = 0; s < 12; ++s) {
    const auto best = std::max_element(scores.begin() + static_cast<std::ptrdiff_t>(s * 5),
                                       scores.begin() + static_cast<std::ptrdiff_t>(s * 5 + 5));
    EXPECT_EQ(seen["class"].values<std::int32_t>()[s], best - scores.begin() - static_cast<std::ptrdiff_t>(s * 5));
  }
}

/// A small difference of large numbers, in double.
struct InDouble {
  Parameter scale;
  constexpr explicit InDouble(Scope s) : scale(s.parameter("scale", Shape{9}, init::uniform(1))) {}
  constexpr Var predict(Var in) const {
    const Var wide = convert(in * scale, DType::f64) + 1e9;
    return tap(convert(wide - 1e9, DType::f32), "difference");
  }
  constexpr Loss loss(Var in) const { return Loss(sum(predict(in), {1})); }
};

TEST(Tapped, ComputesInDoubleWhatTheNetDoes) {
  using Mixed = Compiled<InDouble, Inputs<f32[9]>>;
  Session session(Mixed{}, Accumulate{Sgd{}}, {.global_batch = 12, .seed = 4});
  const Tapped seen = tapped(session, x);
  for (const float difference : seen["difference"].values<float>()) EXPECT_NE(difference, 0);
  Inference<Mixed> difference(session.parameters().values(), 12);
  std::vector<float> computed(x.size());
  difference(x, computed);
  EXPECT_EQ(differing_bits(std::as_bytes(seen["difference"].values<float>()), std::as_bytes(std::span(computed))), 0);
}

TEST(Tapped, ShowsWhatASessionWouldComputeNext) {
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = 4, .micro_batch = 1, .seed = 4});
  double sum = 0, undropped = 0;
  for (std::size_t at = 0; at < 12; ++at) {
    const auto row = std::span(x).subspan(at * 9, 9);
    const auto label = std::span(y).subspan(at, 1);
    sum += tapped(session, row, label)["loss"].item();
    undropped += tapped<Net>(session.parameters().values(), row, label)["loss"].item();
    if (session.accumulate(row, label) == 0) continue;
    EXPECT_EQ(session.last_window().sums()[0], sum) << at;
    EXPECT_NE(session.last_window().sums()[0], undropped);
    sum = undropped = 0;
  }
  EXPECT_EQ(session.step_count(), 3);
}

TEST(Tapped, ShowsWhatAnEagerTapeHas) {
  const auto parameters = parameters_of();
  Parameters own(Device::cpu());
  const Watched<true> net(own.root());
  own.initialize(4);
  EXPECT_EQ(differing_bits(std::as_bytes(own.values()), std::as_bytes(std::span(parameters))), 0);
  EagerTape tape(own, 12);
  tape.training = false;
  net.loss(tape.input(x, {9}), tape.input(y));
  const Tapped eager = tapped(tape), compiled = tapped<Net>(parameters, x, y);
  ASSERT_EQ(eager.size(), compiled.size());
  for (const char* name : {"hidden", "scores", "loss"})
    EXPECT_EQ(differing_bits(std::as_bytes(eager[name].values<float>()), std::as_bytes(compiled[name].values<float>())),
              0)
        << name;
  tape.forget();
  EXPECT_EQ(tapped(tape).size(), 0u);
}

TEST(Tapped, IsPrintedToBeRead) {
  EagerTape tape(Device::cpu());
  const Var v = tape.input(Tensor::from(Device::cpu(), {1.0f, 2.0f}, {2}));
  tap(tap(v, "twice") * 2.0, "twice");
  std::ostringstream out;
  out << tapped(tape);
  EXPECT_EQ(out.str(),
            "twice: float[2] on cpu\n[        1         2]\ntwice: float[2] on cpu\n[        2         4]\n");
  EXPECT_EQ(tapped(tape)["twice"][1], 2);
  try {
    tapped(tape)["once"];
    FAIL();
  } catch (const OptionError& error) {
    EXPECT_STREQ(error.what(), "tapped: no value is named 'once'; there are 'twice', 'twice'");
  }
}

TEST(Tapped, RefusesWhatDoesNotFit) {
  const auto parameters = parameters_of();
  EXPECT_THROW(tapped<Net>(std::span(parameters).first(3), x, y), DataError);
  EXPECT_THROW(tapped<Net>(parameters, std::span(x).first(9), y), DataError);
}

}  // namespace tapped_test
