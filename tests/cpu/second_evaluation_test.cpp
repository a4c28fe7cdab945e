// Optimizers that evaluate each window twice: the whole of it, to the same bits however it is split, or an error.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "../error_of.hpp"
#include "../models.hpp"

namespace second_evaluation_test {

using namespace models;

constexpr auto sam = Sam{ClipByGlobalNorm{Ema{Adafactor{.learning_rate = 0.05f}}, 0.5}, schedule::step(0.05, 3, 0.5)};
using Trained = Session<ClassifierNet, Accumulate<std::remove_const_t<decltype(sam)>>>;
const auto x = numbers(512 * 9);
const auto y = labels(512, 5);

Trained session_of(SessionOptions options = {.global_batch = 512}) {
  options.seed = 7;
  return {ClassifierNet{}, Accumulate{sam}, options};
}
/// Accumulates samples [begin, end) in parts. Returns the number of steps.
int give(Trained& session, std::size_t begin, std::size_t end, const std::vector<std::size_t>& parts) {
  int steps = 0;
  for (std::size_t at = begin, p = 0; at < end; ++p) {
    const std::size_t count = std::min(parts[p % parts.size()], end - at);
    steps += session.accumulate(std::span(x).subspan(at * 9, count * 9), std::span(y).subspan(at, count));
    at += count;
  }
  return steps;
}
std::vector<std::byte> bytes_of(const Trained& session) {
  std::vector<std::byte> all(session.parameter_bytes().begin(), session.parameter_bytes().end());
  all.insert(all.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
  return all;
}
/// Returns parameters and state after ten steps, each window given in the parts `first`, then in the parts `second`.
std::vector<std::byte> trained(const std::vector<std::size_t>& first, const std::vector<std::size_t>& second) {
  Trained session = session_of();
  for (int step = 0; step < 10; ++step) {
    EXPECT_EQ(give(session, 0, 512, first), 0);
    EXPECT_TRUE(session.again());
    EXPECT_EQ(give(session, 0, 512, second), 1);
    EXPECT_FALSE(session.again());
  }
  EXPECT_EQ(session.step_count(), 10);
  return bytes_of(session);
}

TEST(SecondEvaluation, EndsInTheSameBitsForEverySplit) {  // cases 1 and 9
  const auto whole = trained({512}, {512});
  EXPECT_EQ(differing_bits(whole, trained(std::vector<std::size_t>(8, 64), {512})), 0);
  EXPECT_EQ(differing_bits(whole, trained({7, 100, 1, 300, 104}, {341, 171})), 0);
}

TEST(SecondEvaluation, IsAtTheGradientsEndOfARadius) {
  Session session(ClassifierNet{}, Accumulate{Sam{Sgd{.learning_rate = 0.5f}, 0.25}}, {.global_batch = 512, .seed = 7});
  Session plain(ClassifierNet{}, Accumulate{Sgd{.learning_rate = 0.5f}}, {.global_batch = 512, .seed = 7});
  const std::vector<float> start(plain.parameters().values().begin(), plain.parameters().values().end());
  const auto there = session.parameters().values();
  session.accumulate(x, y);
  const std::vector<float> g(session.accumulator().begin(), session.accumulator().end());
  double moved = 0, along = 0, length = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double step = double{there[i]} - double{start[i]};
    moved += step * step, along += step * double{g[i]}, length += double{g[i]} * double{g[i]};
  }
  EXPECT_NEAR(std::sqrt(moved), 0.25, 1e-6);
  EXPECT_NEAR(along / std::sqrt(length), 0.25, 1e-6);
  EXPECT_THROW(session.evaluate(x, y), OptionError);
  plain.set_parameters(there);  // gives the gradient that Sgd must use
  plain.accumulate(x, y);
  session.accumulate(x, y);
  for (std::size_t i = 0; i < start.size(); ++i)
    EXPECT_EQ(session.parameters().values()[i], start[i] - 0.5f * (plain.accumulator()[i] / 512));
  EXPECT_EQ(session.last_window().count(), 512);
  Session untouched(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 512, .seed = 7});
  EXPECT_EQ(session.last_window().loss(),
            untouched.evaluate(x, y).loss());  // at the parameters themselves, not at the place near them
}

TEST(SecondEvaluation, DrawsWhatTheFirstDrew) {  // so at the same place it is the same
  const auto trained = [](auto rule) {
    Session session(DroppedNet{}, Accumulate{rule}, {.global_batch = 512, .seed = 7});
    for (int step = 0; step < 3; ++step) do session.accumulate(x, y);
      while (session.again());
    return std::vector<float>(session.parameters().values().begin(), session.parameters().values().end());
  };
  EXPECT_EQ(trained(Sam{Sgd{.learning_rate = 0.5f}, 0.0}), trained(Sgd{.learning_rate = 0.5f}));
}

TEST(SecondEvaluation, WhatIsNotTheWindowIsRefused) {
  Trained session = session_of();
  const auto untouched = bytes_of(session);
  give(session, 0, 300, {100});
  EXPECT_THROW(give(session, 0, 213, {213}), OptionError);  // one more than the window takes
  EXPECT_EQ(session.position(), 300);
  EXPECT_EQ(session.flush(), 0);  // a tail of 300
  EXPECT_TRUE(session.again());
  EXPECT_EQ(session.window(), 300);
  EXPECT_THROW(give(session, 0, 301, {301}), OptionError);
  give(session, 0, 200, {200});
  EXPECT_THROW(session.flush(), DataError);
  EXPECT_EQ(session.position(), 0);
  EXPECT_TRUE(session.again());  // still
  EXPECT_THROW(session.flush(), DataError);
  session.discard();  // back to where the window began
  EXPECT_EQ(differing_bits(untouched, bytes_of(session)), 0);
  EXPECT_FALSE(session.again());
  EXPECT_EQ(give(session, 0, 512, {512}) + give(session, 0, 512, {512}), 1);
  EXPECT_THROW(session_of({.global_batch = 512, .window_weight = 100.0}), OptionError);
}

TEST(SecondEvaluation, ANonFiniteWindowLeavesNothingBehind) {  // case 4, in either evaluation
  const std::vector<float> far(x.size(), std::numeric_limits<float>::max());
  for (const bool second : {false, true}) {
    Trained clean = session_of(), other = session_of();
    give(clean, 0, 512, {512}), give(clean, 0, 512, {512});
    give(other, 0, 512, {512}), give(other, 0, 512, {512});
    if (second) give(other, 0, 512, {512});
    other.accumulate(far, y);
    EXPECT_FALSE(other.again());
    EXPECT_EQ(other.dropped_windows(), 1);
    EXPECT_EQ(other.step_count(), 1);
    EXPECT_EQ(differing_bits(bytes_of(clean), bytes_of(other)), 0);
  }
}

TEST(SecondEvaluation, IsResumed) {  // case 7
  const auto whole = trained({512}, {512});
  for (const std::size_t at : {100u, 512u, 612u}) {  // in the first evaluation, between them, in the second
    Trained killed = session_of();
    for (int step = 0; step < 9; ++step) give(killed, 0, 512, {512}), give(killed, 0, 512, {512});
    give(killed, 0, std::min<std::size_t>(at, 512), {512});
    if (at > 512) give(killed, 0, at - 512, {512});
    Trained resumed = session_of();
    resumed.restore(killed.state());
    if (at < 512) give(resumed, at, 512, {64});
    give(resumed, at > 512 ? at - 512 : 0, 512, {64});
    EXPECT_EQ(resumed.step_count(), 10);
    EXPECT_EQ(differing_bits(whole, bytes_of(resumed)), 0) << at;
  }
}

TEST(SecondEvaluation, ATrainerGivesWindowsTwice) {
  const auto data = Dataset(x, y);
  const TrainerOptions options{.global_batch = 200, .micro_batch = 64, .seed = 7};
  const auto make = [&](TrainerOptions o) { return Trainer(ClassifierNet{}, Accumulate{sam}, o); };
  auto whole = make({.global_batch = 200, .seed = 7}), parts = make(options), killed = make(options);
  const auto history = whole.fit(data, {.epochs = 3, .progress = Progress::never});
  EXPECT_EQ(history.back().steps, 9);  // 200, 200, 112 in each
  EXPECT_EQ(history.back().training.count(), 512);
  parts.fit(data, {.epochs = 3, .progress = Progress::never});
  EXPECT_EQ(differing_bits(bytes_of(whole.session()), bytes_of(parts.session())), 0);
  const auto path = (std::filesystem::temp_directory_path() / "gradual_second_evaluation.safetensors").string();
  struct Killed {};
  int parts_left = 13;  // inside a second evaluation
  EXPECT_THROW(killed.fit(data, {.epochs = 3, .progress = Progress::never, .on_micro_batch = [&](std::int64_t) {
    if (--parts_left > 0) return;
    killed.save_state(path);
    throw Killed();
  }}), Killed);
  EXPECT_TRUE(killed.session().again());
  EXPECT_EQ(error_of<OptionError>([&] { killed.save(path + ".net"); }),
            "save: the parameters are displaced until the window is given again");
  auto resumed = make(options);
  resumed.load_state(path);
  std::filesystem::remove(path);
  resumed.fit(data, {.epochs = 3, .progress = Progress::never});
  EXPECT_EQ(differing_bits(bytes_of(whole.session()), bytes_of(resumed.session())), 0);
  EXPECT_THROW(make({.global_batch = 200, .tail = Tail::carry}), OptionError);

  auto begun = make(options);
  begun.fit(data, {.progress = Progress::never, .on_micro_batch = [&](std::int64_t) { begun.stop(); }});
  begun.save_state(path);
  Checkpoint state = load(path);
  state.notes["epoch done"] = "5";  // fewer than its window has, to whose beginning the epoch returns
  save(path, state);
  begun.load_state(path);
  std::filesystem::remove(path);
  EXPECT_EQ(begun.fit(data, {.progress = Progress::never}).size(), 1u);
}

TEST(SecondEvaluation, EagerlyToTheSameBits) {
  Trained compiled = session_of();
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  Session eager(parameters, Accumulate{sam}, {.global_batch = 512, .micro_batch = 200, .seed = 7});
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); };
  for (int step = 0; step < 4; ++step) {
    for (int evaluation = 0; evaluation < 2; ++evaluation) give(compiled, 0, 512, {512}), eager.accumulate(512, record);
    EXPECT_EQ(eager.step_count(), step + 1);
    EXPECT_EQ(eager.last_window().loss(), compiled.last_window().loss());
  }
  EXPECT_THROW(eager.accumulate(512 * 2, record), OptionError);
  eager.accumulate(512, record), give(compiled, 0, 512, {512});
  EXPECT_THROW(eager.parameters(), OptionError);
  EXPECT_THROW(eager.averaged_parameters(), OptionError);
  EXPECT_EQ(differing_bits(compiled.parameter_bytes().first(parameters.values().size_bytes()), eager.parameter_bytes()), 0);
  eager.discard(), compiled.discard();
  EXPECT_FALSE(eager.again());
  EXPECT_EQ(differing_bits(compiled.parameter_bytes().first(parameters.values().size_bytes()), eager.parameter_bytes()), 0);
}

TEST(SecondEvaluation, MayGoOnWithOtherParametersFrozen) {
  constexpr auto plain = Accumulate{Sam{Sgd{.learning_rate = 0.1f}, 0.5}};
  using S = Session<ClassifierNet, Accumulate<Sam<Sgd>>>;
  const auto options = [](std::vector<std::string> freeze) {
    return SessionOptions{.global_batch = 512, .seed = 1, .freeze = std::move(freeze)};
  };
  const S at_start(ClassifierNet{}, plain, options({}));
  const auto hidden = [](const S& session) {
    const auto values = session.parameters()["hidden/weight"].values;
    return std::vector<float>(values.begin(), values.end());
  };
  S frozen(ClassifierNet{}, plain, options({"hidden/*"})), then_free(ClassifierNet{}, plain, options({}));
  frozen.accumulate(x, y);
  then_free.restore(frozen.state());
  then_free.accumulate(x, y);
  EXPECT_EQ(then_free.step_count(), 1);
  for (std::size_t i = 0; i < hidden(then_free).size(); ++i) EXPECT_NEAR(hidden(then_free)[i], hidden(at_start)[i], 0.1) << i;
  EXPECT_NE(hidden(then_free), hidden(at_start));

  S free(ClassifierNet{}, plain, options({})), then_frozen(ClassifierNet{}, plain, options({"hidden/*"}));
  free.accumulate(x, y);
  then_frozen.restore(free.state());
  then_frozen.accumulate(x, y);
  EXPECT_EQ(hidden(then_frozen), hidden(at_start));

  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session eager(parameters, plain, options({"hidden/*"}));
  eager.restore(free.state());
  eager.accumulate(512, [&](EagerTape& tape) {
    const Var in = tape.input(x, {9}), label = tape.input(y);
    return net.loss(in, label);
  });
  EXPECT_EQ(differing_bits(std::as_bytes(parameters.values()), std::as_bytes(then_frozen.parameters().values())), 0);
}

TEST(SecondEvaluation, ParametersAreNotReplacedOrHandedOutBefore) {
  Trained session = session_of();
  session.accumulate(x, y);
  const std::vector<std::byte> before = bytes_of(session);
  EXPECT_THROW(session.set_parameters(std::vector<float>(ClassifierNet::parameter_elements)), OptionError);
  EXPECT_EQ(error_of<OptionError>([&] { session.parameters(); }),
            "parameters: the parameters are displaced until the window is given again");
  EXPECT_EQ(error_of<OptionError>([&] { session.averaged_parameters(); }),
            "averaged_parameters: the parameters are displaced until the window is given again");
  EXPECT_EQ(error_of<OptionError>([&] { session.optimizer_state(0); }),
            "optimizer_state: the parameters are displaced until the window is given again");
  EXPECT_EQ(bytes_of(session), before);
}

}  // namespace second_evaluation_test
