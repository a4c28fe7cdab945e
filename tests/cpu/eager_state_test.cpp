// The state of an eager session: training resumes from it to the same bits, also inside a window or in a compiled session.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include <gradual/eager/same_sums.hpp>

#include "../error_of.hpp"
#include "../models.hpp"

namespace eager_state_test {

using namespace models;

constexpr std::int64_t window = 300;
const std::int64_t split[] = {7, 100, 1, 120, 72};  // parts end inside blocks, the last one at the window's end
const auto x = numbers(window * 9);
const auto y = labels(window, 5);

/// One process: parameters, a model, a session.
template <class Model, class Optimizer>
struct Process {
  Parameters parameters{Device::cpu()};
  Model net{parameters.root()};
  Session<Parameters, Optimizer, Inputs<>> session;
  explicit Process(const Optimizer& optimizer, const SessionOptions& options = {.global_batch = window, .seed = 7})
      : session(parameters, optimizer, options) {}

  /// Accumulates part k, counted over all windows.
  void accumulate(int k) {
    std::int64_t at = 0;
    for (int i = 0; i < k % 5; ++i) at += split[i];
    const std::int64_t count = split[k % 5];
    const auto part = [&](const auto& all, std::int64_t width) {
      return std::span(all).subspan(static_cast<std::size_t>(at * width), static_cast<std::size_t>(count * width));
    };
    session.accumulate(count, [&](EagerTape& tape) { return net.loss(tape.input(part(x, 9), {9}), tape.input(part(y, 1))); });
  }
};

template <class A, class B>
void expect_same(const A& a, const B& b) {
  EXPECT_EQ(differing_bits(a.parameter_bytes(), b.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(std::as_bytes(a.optimizer_state(0)), std::as_bytes(b.optimizer_state(0))), 0);
  EXPECT_EQ(a.last_window().loss(), b.last_window().loss());
  EXPECT_EQ(a.last_window().weight(), b.last_window().weight());
  EXPECT_EQ(a.step_count(), b.step_count());
}

/// Compares twelve parts with runs in which the first parts, for every number of them, were given to another session, of
/// which only the state is known.
template <class Model, class Optimizer>
void expect_resumes(const Optimizer& optimizer) {
  Process<Model, Optimizer> whole(optimizer);
  for (int k = 0; k < 12; ++k) whole.accumulate(k);
  for (int ended = 0; ended < 12; ++ended) {
    std::optional<Checkpoint> state;
    {
      Process<Model, Optimizer> first(optimizer);
      for (int k = 0; k < ended; ++k) first.accumulate(k);
      state = first.session.state();
    }
    Process<Model, Optimizer> second(optimizer);
    second.accumulate(0);  // is discarded
    second.session.restore(*state);
    for (int k = ended; k < 12; ++k) second.accumulate(k);
    expect_same(whole.session, second.session);
    EXPECT_EQ(whole.session.state().notes, second.session.state().notes) << "after part " << ended;
  }
}

/// The weight is divided by its norms: much of backward waits for the window's end.
struct Normalised {
  Parameter weight, scale;
  constexpr explicit Normalised(Scope s)
      : weight(s.parameter("weight", Shape{9, 5}, init::normal(0.5))),
        scale(s.parameter("scale", Shape{5}, init::constant(1))) {}
  constexpr Loss loss(Var in, Var label) const {
    const Var w = weight.on(in), unit = w / sqrt(sum(w * w, {0}, true)) * scale;
    return Loss(cross_entropy(matmul(in, unit), label), metric("label", label == 1.0)).plus(sum(w * w, {0, 1}) * 0.1);
  }
};

/// One layer deeper for batches of 7 and of 120.
struct Varying {
  nn::Linear hidden, output;
  explicit Varying(Scope s) : hidden(s / "hidden", 9, 9), output(s / "output", 9, 5) {}
  Loss loss(Var in, Var label) const {
    const auto batch = eager_tape(in).batch();
    for (int i = 0; i < (batch == 7 || batch == 120 ? 2 : 1); ++i) in = tanh(hidden(in));
    return {cross_entropy(output(in), label)};
  }
};

/// Returns whether parts whose losses have the terms f(p, q) and g(p, q) of parameters are summed as one computation.
template <class F, class G>
bool same_terms(F f, G g) {
  Parameters parameters(Device::cpu());
  const Parameter p = parameters.root().parameter("p", Shape{6}, init::normal(1)),
                  q = parameters.root().parameter("q", Shape{6}, init::normal(1));
  parameters.initialize(1);
  EagerTape first(parameters, 2), second(parameters, 2);
  const auto record = [&](EagerTape& tape, auto term) {
    BackwardSpace space;
    const Var samples = tape.input(std::span(x).first(12), {6});
    record_gradients(tape, Loss(sum(samples * p * q, {1})).plus(term(p.on(samples), q.on(samples))),
                     space);
  };
  record(first, f);
  record(second, g);
  return eager::same_sums(first, second);
}

TEST(SameSums, AreOfTheSameComputationsOfTheSameValues) {
  const auto square_of = [](auto... shape) {
    return [=](Var p, Var) { return sum(sum(square(reshape(p, Shape{shape...})), {1}), {0}); };
  };
  const auto times = [](double factor) { return [=](Var p, Var) { return sum(factor * square(p), {0}); }; };
  const auto difference = [](bool swapped) {
    return [=](Var p, Var q) {
      const Var a = square(p), b = square(q);
      return sum(exp(swapped ? b - a : a - b), {0});
    };
  };
  EXPECT_TRUE(same_terms(square_of(2, 3), square_of(2, 3)));
  EXPECT_FALSE(same_terms(square_of(2, 3), square_of(3, 2)));
  EXPECT_TRUE(same_terms(times(2), times(2)));
  EXPECT_FALSE(same_terms(times(2), times(3)));
  EXPECT_TRUE(same_terms(difference(false), difference(false)));
  EXPECT_FALSE(same_terms(difference(false), difference(true)));
  const auto exp_of = [](Var p, Var) { return sum(exp(p), {0}); };
  EXPECT_FALSE(same_terms([](Var p, Var) { return max(p, {0}); }, [](Var p, Var) { return min(p, {0}); }));
  EXPECT_FALSE(same_terms(exp_of, [](Var p, Var) { return sum(exp(exp(p)), {0}); }));
}

TEST(EagerState, GoesOnToTheSameBitsFromAnyPart) {  // case 7
  expect_resumes<Dropped>(Accumulate{Adam{}});
  expect_resumes<Normalised>(Accumulate{ClipByGlobalNorm{Sgd{.momentum = 0.9f}, 0.1}});
}

TEST(EagerState, GoesOnWhereTheSumsAreOfSeveralComputations) {
  const auto optimizer = Accumulate{Adam{}};
  Process<Varying, Accumulate<Adam>> whole(optimizer), first(optimizer), second(optimizer);
  for (int k = 0; k < 5; ++k) whole.accumulate(k);
  for (int k = 0; k < 2; ++k) first.accumulate(k);
  second.session.restore(first.session.state());
  second.accumulate(2);  // of the second computation
  first.session.restore(second.session.state());
  for (int k = 3; k < 5; ++k) first.accumulate(k);
  expect_same(whole.session, first.session);
}

TEST(EagerState, AWindowThatCannotEndYetSaysSo) {
  const auto optimizer = Accumulate{Adam{}};
  Process<Varying, Accumulate<Adam>> first(optimizer), second(optimizer);
  for (int k = 0; k < 2; ++k) first.accumulate(k);
  second.session.restore(first.session.state());
  second.accumulate(2);
  const std::vector<std::byte> before(second.session.parameter_bytes().begin(), second.session.parameter_bytes().end());
  EXPECT_THROW(second.session.flush(), TapeError);
  EXPECT_EQ(differing_bits(before, second.session.parameter_bytes()), 0);
  second.accumulate(3);
  EXPECT_EQ(second.session.flush(), 1);
  second.session.restore(first.session.state());
  second.session.discard();
  EXPECT_EQ(second.session.position(), 0);
  second.accumulate(0);
  EXPECT_EQ(second.session.flush(), 1);
}

TEST(EagerState, InsideAWindowIsOfTheSameFrozenNames) {
  const auto optimizer = Accumulate{Adam{}};
  const SessionOptions plain{.global_batch = window, .seed = 7};
  SessionOptions frozen = plain;
  frozen.freeze = {"hidden/*"};
  using Run = Process<Classifier, Accumulate<Adam>>;
  for (const bool was_frozen : {false, true}) {
    Run first(optimizer, was_frozen ? frozen : plain), other(optimizer, was_frozen ? plain : frozen),
        same(optimizer, was_frozen ? frozen : plain);
    for (int k = 0; k < 5; ++k) first.accumulate(k);
    other.session.restore(first.session.state());  // between windows
    first.accumulate(0);
    other.accumulate(1);
    const Checkpoint before = other.session.state();
    EXPECT_EQ(error_of<FileError>([&] { other.session.restore(first.session.state()); }),
              std::string("the state ends at sample 7 of a window in which 'hidden/weight' is ") +
                  (was_frozen ? "frozen: freeze it here as well" : "not frozen: do not freeze it here") +
                  ", or save where a window ends");
    EXPECT_EQ(other.session.state().notes, before.notes);
    same.session.restore(first.session.state());
    for (int k = 1; k < 5; ++k) first.accumulate(k), same.accumulate(k);
    expect_same(first.session, same.session);
  }
}

TEST(EagerState, PassesFromAndToACompiledSessionBetweenWindows) {
  const auto optimizer = Accumulate{Adam{}};
  Session compiled(DroppedNet{}, optimizer, {.global_batch = window, .seed = 7}),
      other(DroppedNet{}, optimizer, {.global_batch = window});
  Process<Dropped, Accumulate<Adam>> eager(optimizer);
  other.restore(eager.session.state());  // before the first step, with empty means
  for (int i = 0; i < 2; ++i) compiled.accumulate(x, y);
  for (int k = 0; k < 5; ++k) eager.accumulate(k);
  other.restore(eager.session.state());
  other.accumulate(x, y);
  EXPECT_EQ(differing_bits(compiled.parameter_bytes(), other.parameter_bytes()), 0);
  EXPECT_EQ(compiled.state().notes, other.state().notes);
  eager.session.restore(other.state());
  for (int k = 0; k < 5; ++k) eager.accumulate(k);
  compiled.accumulate(x, y);
  const std::size_t bytes = eager.session.parameter_bytes().size();
  EXPECT_EQ(differing_bits(compiled.parameter_bytes().first(bytes), eager.session.parameter_bytes()), 0);

  compiled.accumulate(std::span(x).first(9), std::span(y).first(1));
  eager.accumulate(0);
  const Checkpoint before = eager.session.state();
  EXPECT_THROW(eager.session.restore(compiled.state()), FileError);
  EXPECT_THROW(compiled.restore(before), FileError);
  EXPECT_EQ(eager.session.state().notes, before.notes);
}

TEST(EagerState, IsKeptInAFileAndRefusedWhereItDoesNotFit) {
  const auto optimizer = Accumulate{Adam{}};
  const std::string file =
      (std::filesystem::temp_directory_path() / ("gradual_eager_state_" + std::to_string(::getpid()))).string();
  Process<Dropped, Accumulate<Adam>> run(optimizer), again(optimizer), shorter(optimizer, {.global_batch = 5}),
      summing(optimizer, {.global_batch = window, .reduction = Reduction::sum});
  for (int k = 0; k < 3; ++k) run.accumulate(k);
  run.session.save_state(file);
  again.session.load_state(file);
  std::filesystem::remove(file);
  for (int k = 3; k < 5; ++k) run.accumulate(k), again.accumulate(k);
  expect_same(run.session, again.session);

  again.accumulate(0);
  const Checkpoint state = again.session.state();
  EXPECT_THROW(shorter.session.restore(state), OptionError);
  EXPECT_THROW(summing.session.restore(state), FileError);
  Process<Normalised, Accumulate<Adam>> other_net(optimizer);
  EXPECT_THROW(other_net.session.restore(state), FileError);
  Process<Dropped, Accumulate<Sgd>> other_rule(Accumulate{Sgd{}});
  EXPECT_THROW(other_rule.session.restore(state), FileError);
  for (const auto& [name, tensor] : state.tensors) {
    Checkpoint lacking = state;
    lacking.tensors.erase(name);
    EXPECT_THROW(run.session.restore(lacking), FileError) << name;
  }
  Checkpoint measured = state;  // more than any loss has metrics
  for (int i = 0; i < 40; ++i) measured.notes.at("window") += " 1";
  EXPECT_THROW(run.session.restore(measured), FileError);
  for (const auto& [name, note] : state.notes) {
    Checkpoint lacking = state;
    lacking.notes.erase(name);
    EXPECT_THROW(run.session.restore(lacking), FileError) << name;
    if (!name.starts_with("window/")) continue;
    for (const std::string& bad : {note + " x", note + " ", note + " -99999999999999999999", "-" + note, std::string()}) {
      lacking.notes[name] = bad;
      EXPECT_THROW(run.session.restore(lacking), FileError) << name << ": " << bad;
    }
  }
}

}  // namespace eager_state_test
