// The rules of docs/guides/write-your-own-optimizer.md: the page's code is this file's, and does what the page says.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gradual/check/test_rule.hpp>

#include "../models.hpp"

namespace own_rule_test {

using namespace models;

struct Momentum {
  Scalar learning_rate = 0.1f, momentum = 0.9f;
  struct State {
    Var velocity;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    const Var velocity = momentum * state.velocity + gradient;
    return update(parameter - learning_rate * velocity, State{velocity});
  }
};

struct ElasticNet {
  Scalar learning_rate = 0.1f, l1 = 0.01f, l2 = 0.0f;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    const Var rate = value_of(learning_rate, parameter), moved = parameter - rate * gradient;
    const Var shrunk = sign(moved) * maximum(abs(moved) - rate * l1, 0.0);
    return update(shrunk / (1.0 + rate * l2), state);
  }
};

struct UnitSteps {
  Scalar learning_rate = 1e-2f, epsilon = 1e-8f;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(parameter - learning_rate * gradient / (norm_by_parameter(gradient) + epsilon), state);
  }
};

struct Sm3 {  // Anil et al. 2019: Adagrad that keeps of a matrix's sums the largest of each row and of each column
  Scalar learning_rate = 0.1f, epsilon = 1e-10f;
  struct State {
    Var rows, columns;
  };
  static constexpr Shape state_shape(int index, const Shape& parameter) {
    if (parameter.rank != 2) return index == 0 ? parameter : Shape{0};
    return index == 0 ? Shape{parameter.extent[0], 1} : Shape{1, parameter.extent[1]};
  }
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    const auto nu = [](Var g, Var r, Var c) { return square(g) + (g.shape().rank == 2 ? minimum(r, c) : r); };
    const auto step = [&](Var g, Var r, Var c) { return learning_rate * g / (sqrt(nu(g, r, c)) + epsilon); };
    const auto by_row = [&](Var r, Var c, Var g) { return g.shape().rank == 2 ? max(nu(g, r, c), {1}, true) : nu(g, r, c); };
    const auto by_column = [&](Var c, Var r, Var g) { return g.shape().rank == 2 ? max(nu(g, r, c), {0}, true) : c; };
    return update(parameter - by_parameter(step, gradient, state.rows, state.columns),
                  State{by_parameter(by_row, state.rows, state.columns, gradient),
                        by_parameter(by_column, state.columns, state.rows, gradient)});
  }
};

template <class Inner>
struct CentralizeGradient {
  Inner inner;
  using State = StateOf<Inner>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var centred = by_parameter([](Var g) { return g.shape().rank == 2 ? g - mean(g, {0}, true) : g; }, gradient);
    return apply_rule(inner, parameter, centred, state, step);
  }
};
template <class Inner>
CentralizeGradient(Inner) -> CentralizeGradient<Inner>;

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Guide, ShowsTheCodeOfThisFile) {
  const std::filesystem::path here(__FILE__);
  const std::string mine = text_of(here), page = text_of(here.parent_path() / "../../docs/guides/write-your-own-optimizer.md");
  int blocks = 0;
  for (std::size_t at = page.find("```cpp\n"); at != page.npos; at = page.find("```cpp\n", at + 1)) {
    const std::size_t begin = at + 7, end = page.find("```", begin);
    EXPECT_NE(mine.find(page.substr(begin, end - begin)), mine.npos) << page.substr(begin, end - begin);
    ++blocks;
  }
  EXPECT_EQ(blocks, 5);
}

const auto x = numbers(512 * 9);
const auto y = labels(512, 5);

/// How far each element moves in one step.
template <class Rule>
std::vector<double> first_step(const Rule& rule) {
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session session(parameters, Accumulate{rule}, {.global_batch = 512, .seed = 7});
  std::vector<double> moved(parameters.values().begin(), parameters.values().end());
  session.accumulate(512, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= static_cast<double>(parameters.values()[i]);
  return moved;
}

TEST(Guide, MomentumIsTheLibrarysSgd) {
  Session own(ClassifierNet{}, Accumulate{Momentum{}}, {.global_batch = 64, .seed = 7});
  Session sgd(ClassifierNet{}, Accumulate{Sgd{.learning_rate = 0.1f, .momentum = 0.9f}}, {.global_batch = 64, .seed = 7});
  own.accumulate(x, y);
  sgd.accumulate(x, y);
  EXPECT_EQ(own.step_count(), 8);
  EXPECT_EQ(differing_bits(own.parameter_bytes(), sgd.parameter_bytes()), 0);
}

/// Of three inputs, the last of which tells too little: where the loss's slope is within l1 the weight is 0, and elsewhere it
/// and the penalty's are opposite.
TEST(Guide, AnElasticNetEndsWithExactZeros) {
  std::vector<double> inputs, targets;
  for (int i = 0; i < 60; ++i) {
    const double a = std::sin(1.7 * i), b = std::cos(0.9 * i), c = std::sin(0.3 * i * i);
    inputs.insert(inputs.end(), {a, b, c});
    targets.push_back(1 + 2 * a - b + 0.1 * c);
  }
  ParametersIn<double> parameters(Device::cpu());
  const nn::Linear line(parameters.root() / "line", 3, 1);
  const ByName rule{ElasticNet{.learning_rate = 0.5, .l1 = 0.1, .l2 = 0.05}, Sgd{.learning_rate = 0.5}, {{"*/weight"}}};
  Session session(parameters, rule, {.global_batch = 60});
  for (int step = 0; step < 300; ++step)
    session.accumulate(60, [&](EagerTape& tape) {
      const Var in = tape.input(inputs, {3}), out = tape.input(targets, {1});
      return Loss(0.5 * mse(line(in), out));
    });
  const auto w = parameters.values();
  double slope[4]{};
  for (std::size_t i = 0; i < 60; ++i) {
    const double rest = inputs[3 * i] * w[0] + inputs[3 * i + 1] * w[1] + inputs[3 * i + 2] * w[2] + w[3] - targets[i];
    for (std::size_t k = 0; k < 4; ++k) slope[k] += rest * (k < 3 ? inputs[3 * i + k] : 1) / 60;
  }
  EXPECT_GT(w[0], 1);
  EXPECT_NEAR(slope[0] + 0.1 + 0.05 * w[0], 0, 1e-12);
  EXPECT_LT(w[1], -0.1);
  EXPECT_NEAR(slope[1] - 0.1 + 0.05 * w[1], 0, 1e-12);
  EXPECT_EQ(w[2], 0);
  EXPECT_LT(std::abs(slope[2]), 0.1);
  EXPECT_NEAR(slope[3], 0, 1e-12);
}

TEST(Guide, EachParameterGoesAStepOfTheSameLength) {
  const std::vector<double> moved = first_step(UnitSteps{});
  for (int p = 0; p < ClassifierNet::parameter_count; ++p) {
    double sum = 0;
    for (std::int64_t i = ClassifierNet::parameter_offset(p); i < ClassifierNet::parameter_offset(p + 1); ++i)
      sum += moved[static_cast<std::size_t>(i)] * moved[static_cast<std::size_t>(i)];
    EXPECT_NEAR(std::sqrt(sum), 0.01, 1e-6);
  }
}

TEST(Guide, Sm3KeepsTheLargestOfRowsAndColumns) {
  Session session(ClassifierNet{}, Accumulate{Sm3{}}, {.global_batch = 512, .seed = 7});
  EXPECT_EQ(session.memory().optimizer_state, aligned((9 + 17 + 17 + 5) * 4) + aligned((17 + 5) * 4));
  std::vector<double> expected(session.parameters().values().begin(), session.parameters().values().end());
  std::vector<double> rows(expected.size()), columns(expected.size());  // at each element, what its row and its column have
  for (unsigned step = 1; step <= 3; ++step) {
    const std::vector<float> gradient = numbers(ClassifierNet::parameter_elements, step);
    session.apply(gradient, 1);
    for (int p = 0; p < ClassifierNet::parameter_count; ++p) {
      const Shape& shape = ClassifierNet::parameter(p).shape;
      const auto first = static_cast<std::size_t>(ClassifierNet::parameter_offset(p));
      const auto width = static_cast<std::size_t>(shape.rank == 2 ? shape.extent[1] : 1),
                 end = first + static_cast<std::size_t>(shape.unit());
      std::vector<double> of_row(expected.size()), of_column(expected.size());
      for (std::size_t i = first; i < end; ++i) {
        const std::size_t row = (i - first) / width, column = (i - first) % width;
        const double g = gradient[i], sum = g * g + (shape.rank == 2 ? std::min(rows[i], columns[i]) : rows[i]);
        expected[i] -= 0.1 * g / (std::sqrt(sum) + 1e-10);
        of_row[row] = std::max(of_row[row], sum), of_column[column] = std::max(of_column[column], sum);
      }
      for (std::size_t i = first; i < end; ++i)
        rows[i] = of_row[(i - first) / width], columns[i] = of_column[(i - first) % width];
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(session.parameters().values()[i], expected[i], 1e-5) << i;
  EXPECT_TRUE(test_rule(Sm3{}).mistakes.empty());
}

/// Parameters become their state's number.
struct Named {
  struct State {
    Var zero, number;
  };
  constexpr float initial(std::string_view name) const { return name == "hidden/bias" ? 3.0f : 0.5f; }
  constexpr auto operator()(Var, Var, State state) const { return update(state.zero + state.number, state); }
};

TEST(Guide, TheLastStateMayBeginWithANumberForEachName) {
  Session session(ClassifierNet{}, Accumulate{Named{}}, {.global_batch = 512});
  session.accumulate(x, y);
  for (const float value : session.parameters()["hidden/bias"].values) EXPECT_EQ(value, 3);
  for (const float value : session.parameters()["output/weight"].values) EXPECT_EQ(value, 0.5f);
}

/// Where the numbers of one expression are recorded in another order at run time than by the compiler, each must still get
/// its own.
struct ManyNumbers {
  Scalar a = 1.0f, b = 2.0f, c = 3.0f, d = 4.0f, e = 5.0f, f = 6.0f;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    const Var zero = gradient - gradient;
    return update((a * zero + b) / ((c * zero + d) * (e * zero + f)) + (parameter - parameter), state);
  }
};

TEST(OwnRule, EveryNumberIsReadWhereItStands) {
  Session session(ClassifierNet{}, Accumulate{ManyNumbers{.b = 96.0f, .d = 2.0f, .f = 3.0f}}, {.global_batch = 512});
  session.accumulate(x, y);
  for (const float value : session.parameters().values()) EXPECT_EQ(value, 16.0f);
}

/// Records by its numbers, which are not those that it is compiled with.
struct Chooses {
  Scalar learning_rate = 0.1f;
  bool twice = false;
  double decay = 0.5;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    const Var moved = decay * parameter - learning_rate * gradient;
    return update(twice ? moved - gradient : moved, state);
  }
};

TEST(OwnRule, ThatIsAnotherProgramWithItsNumbersIsRefused) {
  const auto made = [](const Chooses& rule) { Session(ClassifierNet{}, Accumulate{rule}, {.global_batch = 512}); };
  EXPECT_NO_THROW(made({.learning_rate = 7.0}));
  EXPECT_THROW(made({.twice = true}), OptionError);
  EXPECT_THROW(made({.decay = 0.25}), OptionError);
}

/// The parameter goes to a state, another state becomes the parameter, and one value is kept twice.
struct Exchanging {
  struct State {
    Var other, twice, again;
  };
  constexpr Update<State> operator()(Var parameter, Var gradient, State state) const {
    const Var sum = parameter + gradient;
    return {state.other, {parameter, sum, sum}};
  }
};

TEST(OwnRule, MayReturnWhatLiesElsewhereOrOneValueTwice) {
  Session session(ClassifierNet{}, Accumulate{Exchanging{}}, {.global_batch = 512, .seed = 7});
  const auto count = static_cast<std::size_t>(ClassifierNet::parameter_elements);
  const std::vector<float> before(session.parameters().values().begin(), session.parameters().values().end()),
      ones(count, 1.0f);
  session.apply(ones, 1);
  const auto* state = reinterpret_cast<const float*>(session.optimizer_state_bytes().data());
  const auto next = static_cast<std::size_t>(aligned(ClassifierNet::parameter_elements * 4) / 4);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(session.parameters().values()[i], 0);
    EXPECT_EQ(state[i], before[i]);
    EXPECT_EQ(state[next + i], before[i] + 1);
    EXPECT_EQ(state[2 * next + i], before[i] + 1);
  }
  session.apply(ones, 1);
  EXPECT_TRUE(std::ranges::equal(session.parameters().values(), before));
}

TEST(Guide, MatricesMoveByNothingInTheMeanOverTheirInputs) {
  const Sgd plain{.learning_rate = 1.0f};
  const std::vector<double> moved = first_step(CentralizeGradient{plain}), free = first_step(plain);
  for (int p = 0; p < ClassifierNet::parameter_count; ++p) {
    const Shape& shape = ClassifierNet::parameter(p).shape;
    const auto first = static_cast<std::size_t>(ClassifierNet::parameter_offset(p));
    const auto rows = static_cast<std::size_t>(shape.rank == 2 ? shape.extent[0] : 1),
               columns = static_cast<std::size_t>(shape.unit()) / rows;
    for (std::size_t c = 0; c < columns; ++c) {
      double mean = 0;
      for (std::size_t r = 0; r < rows; ++r) mean += free[first + r * columns + c] / static_cast<double>(rows);
      for (std::size_t r = 0; r < rows; ++r)
        EXPECT_NEAR(moved[first + r * columns + c], free[first + r * columns + c] - (shape.rank == 2 ? mean : 0), 1e-6);
    }
  }
}

TEST(Guide, RulesAreTested) {
  EXPECT_TRUE(test_rule(CentralizeGradient{Adam{}}).mistakes.empty());
  EXPECT_TRUE(test_rule(ElasticNet{}).mistakes.empty()) << test_rule(ElasticNet{});
  EXPECT_FALSE(test_rule(UnitSteps{}).by_element);
}

TEST(Guide, OwnAdaptersAreAccumulatedAndRunEagerToTheSameBits) {
  const auto rule = Accumulate{CentralizeGradient{Adam{}}};
  Session whole(ClassifierNet{}, rule, {.global_batch = 512, .seed = 7}),
      parts(ClassifierNet{}, rule, {.global_batch = 512, .micro_batch = 30, .seed = 7});
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  Session eager(parameters, rule, {.global_batch = 512, .seed = 7});
  for (int step = 0; step < 5; ++step) {
    whole.accumulate(x, y);
    parts.accumulate(x, y);
    eager.accumulate(512, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  }
  EXPECT_EQ(differing_bits(whole.parameter_bytes(), parts.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(std::as_bytes(whole.parameters().values()), eager.parameter_bytes()), 0);
}

}  // namespace own_rule_test
