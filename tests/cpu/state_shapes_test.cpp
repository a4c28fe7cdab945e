// Rules whose states have shapes of their own: planned, frozen, saved and resumed as such, compiled and eager.
#include <gtest/gtest.h>

#include "../models.hpp"

namespace state_shapes_test {

using namespace models;

TEST(StateShapes, AdafactorKeepsRowsAndColumns) {
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  constexpr auto rule = Ema{Lookahead{Adafactor{.learning_rate = 0.05f}}};
  const SessionOptions options{.global_batch = 512, .seed = 7, .freeze = {"hidden/*"}};
  Session session(ClassifierNet{}, Accumulate{rule}, options);
  // of [9, 17], [17], [17, 5] and [5]: rows and vectors, columns; the adapters' are as large as the parameters
  EXPECT_EQ(session.memory().optimizer_state, aligned((9 + 17 + 17 + 5) * 4) + aligned((17 + 5) * 4) + 2 * aligned(260 * 4));
  EXPECT_EQ(session.allocated_bytes(), session.memory().total());
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  Session eager(parameters, Accumulate{rule}, options);
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); };
  for (int step = 0; step < 6; ++step) {
    session.accumulate(x, y);
    eager.accumulate(512, record);
  }
  const Checkpoint here = session.state(), there = eager.state();
  EXPECT_EQ(here.tensors.size(), 4 + 4 * 3 + 2);  // of vectors no columns
  for (const auto& [name, tensor] : here.tensors) EXPECT_TRUE(tensor.values == there.tensor(name).values) << name;
  Session resumed(ClassifierNet{}, Accumulate{rule}, options);
  resumed.restore(there);
  resumed.accumulate(x, y);
  eager.accumulate(512, record);
  EXPECT_EQ(differing_bits(std::as_bytes(resumed.parameters().values()), eager.parameter_bytes()), 0);
}

TEST(StateShapes, LargerOnesArePlannedAndKeptAsideWithFrozenParameters) {
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  SessionOptions options{.global_batch = 512, .seed = 7};
  Session free(ClassifierNet{}, Accumulate{Shampoo{}}, options);
  EXPECT_EQ(free.memory().optimizer_state, aligned((9 * 9 + 17 + 17 * 17 + 5) * 4) + aligned((17 * 17 + 5 * 5) * 4));
  free.accumulate(x, y);
  const Checkpoint before = free.state();
  options.freeze = {"hidden/*"};
  Session session(ClassifierNet{}, Accumulate{Shampoo{}}, options);
  EXPECT_EQ(session.allocated_bytes(), session.memory().total());
  EXPECT_GE(session.memory().update, free.memory().update + (9 * 17 + 9 * 9 + 17 * 17 + 17 + 17) * 4);
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  Session eager(parameters, Accumulate{Shampoo{}}, options);
  session.restore(before);
  eager.restore(before);
  for (int step = 0; step < 3; ++step) {
    session.accumulate(x, y);
    eager.accumulate(512, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  }
  const Checkpoint here = session.state(), there = eager.state();
  for (const auto& [name, tensor] : here.tensors) {
    EXPECT_TRUE(tensor.values == there.tensor(name).values) << name;
    EXPECT_EQ(tensor.values == before.tensor(name).values, name.find("hidden") != std::string::npos) << name;
  }
}

}  // namespace state_shapes_test
