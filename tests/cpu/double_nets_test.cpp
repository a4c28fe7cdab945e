// Nets that are in double because an input is (their kernels: compiled_against_reference_test): the same bits for every split,
// compiled and eagerly; parameters, sums and states of eight bytes, also in files and budgets.
#include <cmath>
#include <filesystem>
#include <gradual/check/test_model.hpp>
#include <gradual/check/test_splits.hpp>

#include "../both_ways.hpp"
#include "../compiled_against_reference.hpp"
#include "../error_of.hpp"

namespace double_nets_test {

using namespace against_reference;

using Doubled = Compiled<Classifier, Inputs<f64[9], i32>>;

/// Returns numbers with more digits than a float has.
std::vector<double> digits(std::size_t count) {
  auto values = numbers_in<double>(count);
  for (double& value : values) value *= 1.1;
  return values;
}
std::vector<double> as_doubles(const std::vector<std::int32_t>& values) { return {values.begin(), values.end()}; }

/// Its metric and its weight are in float.
struct PartlyFloat {
  nn::Linear layer;
  constexpr explicit PartlyFloat(Scope s) : layer(s / "layer", 6, 3) {}
  constexpr Loss loss(Var x, Var label) const {
    const Var largest = exp(max(convert(x, DType::f32), {1})), weight = convert(label == 1, DType::f32) + 1.5;
    return Loss{cross_entropy(layer(x), label), metric("largest", largest)}.weighted_by(weight);
  }
};

TEST(DoubleNets, ComputeInFloatWhatIsConverted) {
  const auto x = digits(samples * 6);
  const auto label = labels(samples, 3);
  expect_equal_bits<Compiled<PartlyFloat, Inputs<f64[6], i32>>>({x, as_doubles(label)}, std::span(x), std::span(label));
}

/// Label masks: as a factor, as a weight, and as a weight with another one.
struct Masked {
  nn::Linear layer;
  constexpr explicit Masked(Scope s) : layer(s / "layer", 6, 3) {}
  constexpr Loss loss(Var x, Var label) const {
    const Var value = cross_entropy(layer(x), label) * (label != 0);
    return Loss{value}.weighted_by(label < 2).weighted_by(square(select(x, 1, 0)));
  }
};

TEST(DoubleNets, TakeComparisonsOfIntegersAsDoubles) {
  const auto x = digits(samples * 6);
  const auto label = labels(samples, 3);
  using Net = Compiled<Masked, Inputs<f64[6], i32>>;
  expect_equal_bits<Net>({x, as_doubles(label)}, std::span(x), std::span(label));
  const both_ways::Samples<double> in{x, Shape{6}};
  const both_ways::Samples<std::int32_t> classes{label, {}};
  EXPECT_EQ(both_ways::train_compiled<Net>({60}, 1, in, classes), both_ways::train_eager<Masked>({13, 21}, in, classes));
}

TEST(DoubleNets, AreLookedInto) {
  struct Logarithm {
    Parameter scale;
    constexpr explicit Logarithm(Scope s) : scale((s / "layer").parameter("scale", Shape{3}, init::constant(0.1))) {}
    constexpr Loss loss(Var x) const { return sum(tap(log(x * scale), "logarithm"), {1}); }
  };
  using Net = Compiled<Logarithm, Inputs<f64[3]>>;
  const std::vector<double> scale(3, 0.1), fine = {1, 2, 3}, wrong = {1, -1e-10, 3};
  EXPECT_EQ(tapped<Net>(scale, fine)["logarithm"].values<double>()[2], math::log(3 * 0.1));
  EXPECT_EQ(first_non_finite<Net>(scale, fine), "");
  EXPECT_EQ(first_non_finite<Net>(scale, wrong), "log in layer 'layer': element 1 is nan, of -1e-11");
}

/// A layer in float, as in a net that converts its double inputs.
struct FloatLayer {
  nn::Linear layer;
  constexpr explicit FloatLayer(Scope s) : layer(s / "layer", 6, 3) {}
  constexpr Loss loss(Var x, Var label) const { return cross_entropy(layer(convert(x, DType::f32)), label); }
};

TEST(DoubleNets, SayWhatAFloatMeets) {
  EXPECT_EQ(error_of<TypeError>([] { trace_training<FloatLayer>(Inputs<f64[6], i32>{}); }),
            "matmul: unsupported operand types float and double (in layer 'layer'); a net with an input of double has "
            "parameters in double: use convert(x, DType::f64)");
}

/// An op of one's own that is written for floats alone.
struct OfFloats {
  static constexpr const char* name = "of_floats";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  static constexpr float apply(std::same_as<float> auto x) { return -x; }
};

TEST(DoubleNets, SayThatAnOpIsForFloats) {
  EagerTape tape(Device::cpu(), 2);
  EXPECT_EQ(value(elementwise<OfFloats>(tape.input(std::span<const float>(std::vector<float>{1, 2}), {})))[1], -2);
  const Var x = tape.input(std::span<const double>(std::vector<double>{1, 2}), {});
  EXPECT_EQ(error_of<TypeError>([&] { elementwise<OfFloats>(x); }), "of_floats: its apply takes no double");
}

TEST(DoubleNets, AreTheSameCompiledAndEager) {
  using both_ways::Samples;
  using both_ways::train_compiled;
  using both_ways::train_eager;
  constexpr std::size_t count = both_ways::samples;
  const Samples<double> image{digits(count * 16), Shape{1, 4, 4}};
  const Samples<std::int32_t> token{labels(count, 7), {}}, label{labels(count, 3), {}};
  const std::vector<double> whole = train_compiled<NarrowNet<double>>({60}, 1, image, token, label);
  EXPECT_EQ(whole, train_compiled<NarrowNet<double>>({7, 1, 30, 22}, 2, image, token, label));
  EXPECT_EQ(whole, train_eager<Narrow>({60}, image, token, label));
  EXPECT_EQ(whole, train_eager<Narrow>({13, 21}, image, token, label));
}

TEST(DoubleNets, AreNearThoseInFloatAndWhatDifferencesSay) {
  const auto x = numbers(60 * 9);
  const std::vector<double> wide(x.begin(), x.end());
  const auto label = labels(60, 5);
  Session narrow(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 60});
  Session session(Doubled{}, Accumulate{Sgd{}}, {.global_batch = 60});
  EXPECT_TRUE(std::ranges::equal(narrow.parameters().values(), session.parameters().values()));  // they start as floats
  narrow.accumulate(x, label), session.accumulate(wide, label);
  double furthest = 0;
  for (std::size_t i = 0; i < narrow.accumulator().size(); ++i)
    furthest = std::max(furthest, std::abs(narrow.accumulator()[i] - session.accumulator()[i]));
  EXPECT_LT(furthest, 1e-4);
  EXPECT_GT(furthest, 0);
  const ModelCheck check = test_model(Doubled{}, session.parameters().values(), wide, label);
  EXPECT_TRUE(check.mistakes.empty()) << check;
}

/// y = A·x, which L-BFGS solves to the precision of the type.
struct LeastSquares {
  nn::Linear layer;
  constexpr explicit LeastSquares(Scope s) : layer(s / "layer", 3, 2) {}
  constexpr Loss loss(Var x, Var y) const { return mse(layer(x), y); }
};
using Solved = Compiled<LeastSquares, Inputs<f64[3], f64[2]>>;

/// Any adapter and rule, in every split.
TEST(DoubleNets, EndInTheSameBitsForEverySplit) {
  const auto x = digits(300 * 3), y = digits(300 * 2);
  const auto expect = [&](const auto& rule) {
    const SplitCheck check = test_splits(Solved{}, Accumulate{rule}, {{100, 100, 100}, {7, 100, 1, 192}}, x, y);
    EXPECT_TRUE(check.mistakes.empty()) << check;
  };
  expect(ClipByGlobalNorm{Ema{Lookahead{AdamW{}, schedule::every(2)}, 0.9}, 0.1});
  expect(LossScale{Muon{}});
  expect(Sam{Lbfgs{}});
  expect(ScaleUpdate{WeightDecay{Adafactor{}, 0.1, {{"*/weight"}}}, 0.5, {{"*/bias"}}});
}

TEST(DoubleNets, StepAsTheInterpreterDoes) {
  using Rule = ClipByGlobalNorm<Adam>;
  using Layout = TrainingLayout<Doubled, Rule>;
  const Rule rule{Adam{.learning_rate = 0.02f}, 0.25};
  const auto x = digits(60 * 9);
  const auto label = labels(60, 5);
  Session session(Doubled{}, Accumulate{rule}, {.global_batch = 60});
  const auto values = session.parameters().values();
  const std::vector<double> begin(values.begin(), values.end()), zeros(begin.size(), 0.0);
  session.accumulate(x, label);
  const auto sums = session.accumulator();
  std::vector<double> scalars = {60, 1};
  const Tape traced = trace_update(rule, Doubled::declared(), DType::f64, DType::f64);
  const auto recorded = scalars_of(Layout::UpdateProgram::tables, traced);
  for (std::size_t s = rule_scalars; s < recorded.size(); ++s) scalars.push_back(recorded[s].at(0));
  const Tape update = thaw(Layout::UpdateProgram::graph);
  const Reference<float, double> step(update, 1, {begin, {sums.begin(), sums.end()}, zeros, zeros}, {}, scalars);
  EXPECT_TRUE(std::ranges::equal(values, step.root(Role::value, 0)));
}

/// p ← p − g/10, as an opaque optimizer.
struct Descent {
  void step(std::span<const ParameterViewIn<double>> parameters, std::span<const GradientViewIn<double>> gradients) {
    for (std::size_t p = 0; p < parameters.size(); ++p)
      for (std::size_t i = 0; i < parameters[p].values.size(); ++i) parameters[p].values[i] -= 0.1 * gradients[p].values[i];
  }
};

TEST(DoubleNets, AreHandedToAnOpaqueOptimizer) {
  const auto x = digits(60 * 9);
  const auto label = labels(60, 5);
  Session session(Doubled{}, Accumulate{Descent{}}, {.global_batch = 60});
  ParametersIn<double> parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session eager(parameters, Accumulate{Descent{}}, {.global_batch = 60});
  const auto values = session.parameters().values();
  std::vector<double> expected(values.begin(), values.end());
  session.accumulate(x, label);
  eager.accumulate(60, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(label)); });
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= 0.1 * (session.accumulator()[i] / 60);
  EXPECT_TRUE(std::ranges::equal(values, expected));
  EXPECT_TRUE(std::ranges::equal(values, parameters.values()));
}

TEST(DoubleNets, TakeTheBytesThatArePlanned) {
  constexpr auto optimizer = Accumulate{Adam{}};
  constexpr MemoryTable planned = Doubled::training_memory(optimizer, 30);
  static_assert(planned.parameters == aligned(Doubled::parameter_elements * 8));
  static_assert(planned.optimizer_state == 2 * planned.parameters && planned.gradients == planned.parameters);
  const auto x = digits(90 * 9);
  const auto label = labels(90, 5);
  const std::string why =
      error_of<MemoryError>([&] { Session(Doubled{}, optimizer, {.global_batch = 64, .memory_budget = 1}); });
  EXPECT_NE(why.find("2448 B: optimizer state of 'hidden/weight'"), why.npos) << why;
  const std::string of_one =
      error_of<MemoryError>([&] { Session(Doubled{}, Accumulate{Sgd{}}, {.global_batch = 1, .memory_budget = 1}); });
  EXPECT_NE(of_one.find("1224 B: parameter 'hidden/weight'"), of_one.npos) << of_one;
  EXPECT_EQ(memory_by_shadow<Doubled>(optimizer, 30).find("compensated"), std::string::npos);
  for (const std::int64_t micro : {30, 7}) {
    Session session(Doubled{}, optimizer,
                    {.global_batch = 60, .micro_batch = micro, .freeze = {"hidden/weight"}, .noise_batch = 20});
    EXPECT_EQ(session.allocated_bytes(), session.memory().total());
    const auto frozen = session.parameters()["hidden/weight"].values;
    const std::vector<double> before(frozen.begin(), frozen.end());
    session.accumulate(x, label);
    session.flush();
    EXPECT_TRUE(std::ranges::equal(frozen, before));
    EXPECT_EQ(session.step_count(), 2);
    EXPECT_GT(session.gradient_noise().windows, 0);
  }
}

TEST(DoubleNets, UndoAMicroBatchThatIsNotFinite) {
  const auto x = digits(60 * 9);
  const auto label = labels(60, 5);
  auto bad = x;
  for (double& value : std::span(bad).subspan(20 * 9, 9)) value = 1e200;
  const SessionOptions options{.global_batch = 60, .micro_batch = 20, .non_finite = NonFinite::drop_micro_batch};
  struct Cubes {
    Parameter w;
    constexpr explicit Cubes(Scope s) : w(s.parameter("w", Shape{9}, init::uniform(1))) {}
    constexpr Loss loss(Var in, Var) const { return Loss(sum(in * in * in * w, {1})); }
  };
  using Net = Compiled<Cubes, Inputs<f64[9], i32>>;
  Session session(Net{}, Accumulate{Sgd{}}, options), without(Net{}, Accumulate{Sgd{}}, options);
  session.accumulate(bad, label);
  without.accumulate(std::span(x).first(20 * 9), std::span(label).first(20));
  without.accumulate(std::span(x).subspan(40 * 9), std::span(label).subspan(40));
  without.flush();
  EXPECT_EQ(session.dropped_micro_batches(), 1);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), without.parameter_bytes()), 0);
}

class Files : public testing::Test {
 protected:
  ~Files() override { std::filesystem::remove(path); }
  const std::string path =
      testing::TempDir() + "gradual-double-" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors";
  const std::vector<double> x = digits(300 * 9);
  const std::vector<std::int32_t> label = labels(300, 5);
};

TEST_F(Files, StatesOfDoublesGoOnInsideAWindow) {
  const auto optimizer = Accumulate{Ema{Adam{}, 0.9}};
  const auto part = [&](std::size_t from, std::size_t count) {
    return std::pair(std::span(x).subspan(from * 9, count * 9), std::span(label).subspan(from, count));
  };
  const auto give = [&](auto& session, std::size_t from, std::size_t count) {
    const auto [some, of] = part(from, count);
    session.accumulate(some, of);
  };
  Session whole(Doubled{}, optimizer, {.global_batch = 150});
  give(whole, 0, 300);
  for (const std::size_t killed : {std::size_t{1}, std::size_t{128}, std::size_t{170}}) {
    Session dying(Doubled{}, optimizer, {.global_batch = 150}), next(Doubled{}, optimizer, {.global_batch = 150, .seed = 9});
    give(dying, 0, killed);
    dying.save_state(path);
    for (const auto& [name, tensor] : load(path).tensors) EXPECT_EQ(tensor.dtype, DType::f64) << name;
    next.load_state(path);
    give(next, killed, 300 - killed);
    EXPECT_EQ(differing_bits(next.parameter_bytes(), whole.parameter_bytes()), 0) << killed;
    EXPECT_EQ(differing_bits(next.optimizer_state_bytes(), whole.optimizer_state_bytes()), 0) << killed;
  }
}

TEST_F(Files, EagerStatesOfDoublesGoOnInsideAWindowAndCompiled) {
  const auto optimizer = Accumulate{ClipByGlobalNorm{Adam{}, 0.1}}.in<double>();
  const SessionOptions options{.global_batch = 150};
  Session whole(Doubled{}, optimizer, options), compiled(Doubled{}, optimizer, options);
  whole.accumulate(x, label);
  ParametersIn<double> first(Device::cpu()), second(Device::cpu());
  const Classifier of_first(first.root()), of_second(second.root());
  Session dying(first, optimizer, options), next(second, optimizer, options);
  const auto give = [&](auto& session, const Classifier& net, std::size_t from, std::size_t count) {
    session.accumulate(static_cast<std::int64_t>(count), [&](EagerTape& tape) {
      return net.loss(tape.input(std::span(x).subspan(from * 9, count * 9), {9}),
                      tape.input(std::span(label).subspan(from, count)));
    });
  };
  give(dying, of_first, 0, 70);
  dying.save_state(path);
  next.load_state(path);
  give(next, of_second, 70, 80);
  next.save_state(path);
  compiled.load_state(path);
  compiled.accumulate(std::span(x).subspan(150 * 9), std::span(label).subspan(150));
  EXPECT_TRUE(std::ranges::equal(compiled.parameters().values(), whole.parameters().values()));
  save_parameters(path, whole.parameters());
  load_parameters(load(path), second);
  EXPECT_TRUE(std::ranges::equal(second.values(), whole.parameters().values()));
}

TEST_F(Files, ParametersAreDoublesAndFloatsAreRead) {
  Session session(Doubled{}, Accumulate{Adam{}}, {.global_batch = 300});
  session.accumulate(x, label);
  save_parameters(path, session.parameters());
  Inference<Doubled> scores(load(path), 100);
  std::vector<double> out(300 * 5), again(300 * 5);
  scores(x, out);
  Inference<Doubled> following(session.parameters().values(), 7);
  following(x, again);
  EXPECT_EQ(out, again);
  EXPECT_NE(out[0], static_cast<double>(static_cast<float>(out[0])));
  EXPECT_EQ(error_of<FileError>([&] { Inference<ClassifierNet> narrow(load(path)); }),
            path + ": tensor 'hidden/weight' is of double, not of float");

  Session narrow(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 300, .seed = 4});
  save_parameters(path, narrow.parameters());
  load_parameters(load(path), session.parameters());
  EXPECT_TRUE(std::ranges::equal(session.parameters().values(), narrow.parameters().values()));
  const std::vector<double> two = {0.1, 0.2};
  EXPECT_EQ(error_of<FileError>([&] { StoredTensor::of({2}, std::span<const double>(two)).elements<float>(); }),
            "a tensor of double is not one of float");
  narrow.save_state(path);
  EXPECT_EQ(error_of<FileError>([&] { session.load_state(path); }),
            path + ": the state is of another shadow: 'float' instead of 'double'");
}

TEST_F(Files, ATrainerRestoresItsBestDoubles) {
  const auto [train, validation] = Dataset(x, label).split(0.5);
  const TrainerOptions options{.global_batch = 50, .micro_batch = 20, .seed = 2};
  const auto optimizer = Accumulate{Adam{.learning_rate = 0.1f}};
  Trainer whole(Doubled{}, optimizer, options), next(Doubled{}, optimizer, options);
  const auto save_first = [&](const EpochRecord& record) {
    if (record.epoch == 0) whole.save_state(path);
  };
  whole.fit(train, {.epochs = 6, .validate = validation, .patience = 6, .progress = Progress::never, .on_epoch = save_first});
  EXPECT_EQ(load(path).tensor("fit/best", DType::f64).shape[0], Doubled::parameter_elements);
  next.load_state(path);
  next.fit(train, {.epochs = 5, .validate = validation, .patience = 6, .progress = Progress::never});
  EXPECT_TRUE(std::ranges::equal(whole.parameters().values(), next.parameters().values()));
}

TEST(DoubleNets, LearnToTheDigitsOfDoubles) {
  const auto x = digits(40 * 3);
  std::vector<double> y;
  for (std::size_t i = 0; i < 40; ++i) {
    y.push_back(0.3 * x[3 * i] - 0.7 * x[3 * i + 1] + 0.1);
    y.push_back(1.1 * x[3 * i + 2] + 0.5 * x[3 * i] - 0.2);
  }
  Session session(Solved{}, Accumulate{Lbfgs{}}, {.global_batch = 40});
  for (int step = 0; step < 200; ++step) session.accumulate(x, y);
  EXPECT_LT(session.last_window().loss(), 1e-24);  // floats stop at 1e-15
}

struct Constant {
  Parameter at;
  constexpr explicit Constant(Scope s) : at(s.parameter("at", Shape{1}, init::constant(0.1))) {}
  constexpr Loss loss(Var x) const { return {sum(x * at, {1})}; }
};
TEST(DoubleNets, BeginWithConstantsOfDoubles) {
  Session session(Compiled<Constant, Inputs<f64[1]>>{}, Accumulate{Sgd{}}, {.global_batch = 1});
  EXPECT_EQ(session.parameters()[0].values[0], 0.1);
}

TEST(DoubleNets, RefuseWhatIsNotFinite) {
  auto x = digits(9);
  x[4] = std::numeric_limits<double>::infinity();
  Session session(Doubled{}, Accumulate{Sgd{}}, {.global_batch = 1});
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate(x, labels(1, 5)); }), "input 0, sample 0: value 4 is infinite");
}

}  // namespace double_nets_test
