// Freezing in an eager session: the bits of a compiled one, and nothing lost where an update fails.
#include <gtest/gtest.h>

#include "../count_allocations.hpp"
#include "../models.hpp"

namespace eager_freeze_test {

using namespace models;

const auto x = numbers(64 * 9);
const auto y = labels(64, 5);

template <class Optimizer>
void expect_compiled_bits(const Optimizer& optimizer, const std::vector<std::string>& freeze) {
  const SessionOptions options{.global_batch = 64, .micro_batch = 24, .seed = 3, .freeze = freeze};
  Session compiled(ClassifierNet{}, optimizer, options);
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session eager(parameters, optimizer, options);
  for (float& value : compiled.parameters()["hidden/bias"].values) value = -0.0f;  // a sign is a bit as well
  for (float& value : parameters["hidden/bias"].values) value = -0.0f;
  const std::vector<float> before(parameters.values().begin(), parameters.values().end());
  for (int step = 0; step < 3; ++step) {
    compiled.accumulate(x, y);
    eager.accumulate(64, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
    const std::size_t bytes = eager.parameter_bytes().size();
    EXPECT_EQ(differing_bits(compiled.parameter_bytes().first(bytes), eager.parameter_bytes()), 0);
    EXPECT_EQ(differing_bits(compiled.optimizer_state_bytes().first(bytes), std::as_bytes(eager.optimizer_state(0))), 0);
  }
  for (int p = 0; p < parameters.size(); ++p) {
    const std::span<const float> values = parameters[p].values;
    const auto first = static_cast<std::size_t>(parameters.offsets()[static_cast<std::size_t>(p)]);
    const bool same =
        differing_bits(std::as_bytes(values), std::as_bytes(std::span(before).subspan(first, values.size()))) == 0;
    EXPECT_EQ(same, parameters[p].name.starts_with("hidden")) << parameters[p].name;
  }
}

TEST(EagerFreeze, HasTheBitsOfACompiledSession) {
  expect_compiled_bits(Accumulate{AdamW{.learning_rate = 0.1f, .weight_decay = 0.1f}}, {"hidden/*"});
  expect_compiled_bits(Accumulate{ClipByGlobalNorm{Sgd{.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.1f}, 0.05f}},
                       {"hidden/weight", "hidden/b*"});
}

TEST(EagerFreeze, NothingIsKeptAsideFromAnUpdateByElement) {
  const auto workspace = [](const auto& rule, const std::vector<std::string>& freeze) {
    Parameters parameters(Device::cpu());
    const Classifier net(parameters.root());
    const Session session(parameters, Accumulate{rule}, {.global_batch = 64, .freeze = freeze});
    return parameters.device().live_bytes(Category::workspace);
  };
  EXPECT_EQ(workspace(Adam{}, {"hidden/*"}), workspace(Adam{}, {}));
  EXPECT_GE(workspace(ClipByGlobalNorm{Adam{}}, {"hidden/*"}), 3 * 170 * 4);
}

TEST(EagerFreeze, AnAverageFollowsWhatIsFrozen) {
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session session(parameters, Accumulate{Ema{Adam{}, 0.5}}, {.global_batch = 64, .freeze = {"hidden/*"}});
  session.accumulate(64, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  std::ranges::fill(parameters["hidden/bias"].values, 3.0f);
  session.accumulate(64, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  const auto first = static_cast<std::size_t>(parameters.offsets()[1]);
  for (std::size_t i = 0; i < 17; ++i) EXPECT_EQ(session.averaged_parameters()[first + i], 3.0f);
  EXPECT_NE(session.averaged_parameters()[first + 17], parameters["output/weight"].values[0]);
}

TEST(EagerFreeze, AnUnknownNameIsRefusedWithTheKnownOnes) {
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  try {
    Session(parameters, Accumulate{Sgd{}}, {.global_batch = 64, .freeze = {"hiden/*"}});
    ADD_FAILURE();
  } catch (const OptionError& error) {
    EXPECT_STREQ(error.what(), "freeze: no parameter is named 'hiden/*'; there are 'hidden/weight', 'hidden/bias', "
                               "'output/weight', 'output/bias'");
  }
}

TEST(EagerFreeze, AnUpdateThatFailsChangesNothing) {
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session session(parameters, Accumulate{ClipByGlobalNorm{Adam{}}}, {.global_batch = 64, .freeze = {"hidden/*"}});
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); };
  session.accumulate(64, record);
  const std::vector<float> before(parameters.values().begin(), parameters.values().end());
  int failures_in_a_step = 0;
  for (int later = 0; session.step_count() == 1; ++later) {
    parameters.device().trim();
    fails_for_ever = true;  // else smaller parts would be recorded
    failing_allocation = allocations + later;
    try {
      session.accumulate(64, record);
    } catch (const MemoryError&) {
      failures_in_a_step += session.position() == 64;
      EXPECT_EQ(differing_bits(std::as_bytes(std::span(before)), session.parameter_bytes()), 0) << "allocation " << later;
    }
    failing_allocation = none;
    if (session.step_count() == 1) session.discard();
  }
  EXPECT_GT(failures_in_a_step, 0);
}

}  // namespace eager_freeze_test
