// Eager sessions, trainers and parameters that are moved: the new one goes on, and the old one says that it was moved from.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../models.hpp"

namespace eager_moves_test {

using namespace models;

TEST(EagerMoves, WhatWasMovedFromAnswersSo) {
  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root() / "layer", 2, 1);
  const std::vector<float> x{1, 2, 3, 4}, y{1, 2};
  const auto loss = [&](EagerTape& tape, std::span<const float> in, std::span<const float> target) {
    return Loss{mse(layer(tape.input(in, {2})), tape.input(target, {1}))};
  };
  const auto record = [&](EagerTape& tape) { return loss(tape, x, y); };
  Session session(parameters, Accumulate{Adam{}}, {.global_batch = 4});
  session.accumulate(2, record);
  const auto taker = std::move(session);
  const std::string why = "the session was moved from: it has no parameters";
  const auto moved = [](auto f) { return error_of<OptionError>(f); };
  EXPECT_EQ(moved([&] { session.accumulate(2, record); }), why);
  EXPECT_EQ(moved([&] { session.evaluate(2, record); }), why);
  EXPECT_EQ(moved([&] { session.flush(); }), why);
  EXPECT_EQ(moved([&] { session.discard(); }), why);
  EXPECT_EQ(moved([&] { session.state(); }), why);
  EXPECT_EQ(moved([&] { session.restore(taker.state()); }), why);
  EXPECT_EQ(moved([&] { session.set_parameters(std::vector<float>(3)); }), why);
  EXPECT_EQ(moved([&] { session.parameter_bytes(); }), why);
  EXPECT_EQ(moved([&] { session.last_gradient(); }), why);
  EXPECT_EQ(moved([&] { session.optimizer_state(0); }), why);

  Trainer trainer(EagerNet(parameters, loss), Accumulate{Adam{}}, {.global_batch = 2});
  auto other = std::move(trainer);
  EXPECT_EQ(moved([&] { trainer.fit(Dataset(x, y), {.epochs = 1}); }), why);
  EXPECT_EQ(moved([&] { trainer.evaluate(Dataset(x, y)); }), why);
  EXPECT_EQ(other.fit(Dataset(x, y), {.epochs = 1}).size(), 1u);
}

struct Made {
  Parameters parameters;
  nn::Linear layer;
};
Made made() {
  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root() / "layer", 2, 1);
  return {std::move(parameters), layer};
}
static_assert(std::is_nothrow_move_constructible_v<Parameters> && !std::is_move_assignable_v<Parameters> &&
              !std::is_copy_constructible_v<Parameters>);

TEST(EagerMoves, LeaveAModelItsParameters) {
  const std::vector<float> x{1, 2, 3, 4}, y{1, 2};
  Made model = made();
  Parameters& parameters = model.parameters;
  const nn::Linear& layer = model.layer;
  const auto record = [&](EagerTape& tape) { return Loss{mse(layer(tape.input(x, {2})), tape.input(y, {1}))}; };
  parameters.initialize(0);
  EagerTape tape(parameters, 2);
  const std::span<float> values = parameters.values();
  const std::vector<float> before(values.begin(), values.end());
  Session early(parameters, Accumulate{Adam{}}, {.global_batch = 4});
  early.accumulate(2, record);

  Parameters taken = std::move(parameters);
  EXPECT_EQ(taken.values().data(), values.data());
  EXPECT_EQ(value(layer(tape.input(x, {2}))).values<float>()[1], 3 * before[0] + 4 * before[1] + before[2]) << "a tape goes on";
  const std::string why = "the parameters were moved from";
  const auto moved = [](auto f) { return error_of<OptionError>(f); };
  EXPECT_EQ(moved([&] { parameters.root(); }), why);
  EXPECT_EQ(moved([&] { parameters.initialize(0); }), why);
  EXPECT_EQ(moved([&] { parameters.values(); }), why);
  EXPECT_EQ(moved([&] { parameters["layer/bias"]; }), why);
  EXPECT_EQ(moved([&] { parameters.size(); }), why);
  EXPECT_EQ(moved([&] { EagerTape{parameters}; }), why);
  EXPECT_EQ(moved([&] { Session(parameters, Accumulate{Adam{}}, {.global_batch = 4}); }), why);
  EXPECT_EQ(moved([&] { early.accumulate(2, record); }), why);
  EXPECT_EQ(moved([&] { early.evaluate(2, record); }), why);
  EXPECT_EQ(moved([&] { early.flush(); }), why);
  EXPECT_EQ(moved([&] { early.state(); }), why);
  EXPECT_EQ(moved([&] { early.set_parameters(before); }), why);
  EXPECT_EQ(moved([&] { early.parameters().values(); }), why);
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), before) << "nothing was changed";

  Session session(taken, Accumulate{Adam{}}, {.global_batch = 2});
  EXPECT_EQ(session.accumulate(2, record), 1);
  EXPECT_NE(std::vector<float>(values.begin(), values.end()), before);
}

}  // namespace eager_moves_test
