// The code of the guide to eager nets.
#include <vector>

#include "../../examples/01-digits/model.hpp"
#include "../documented.hpp"

namespace documented_eager_nets_test {

using namespace documented;

TEST_F(Documented, AnEagerModel) {
  using digits::Mlp;
  const std::int64_t columns = 64, width = 20;
  const auto x = std::span(images).first(100 * 64);
  const auto y = std::span(labels).first(100);
  Parameters parameters(Device::cpu());
  Mlp net(parameters.root(), {.in = columns, .hidden = width});
  Session session(parameters, optimizer, {.global_batch = 512});
  session.accumulate(100, [&](EagerTape& tape) {
    const Var in = tape.input(x, {columns}), label = tape.input(y);
    return net.loss(in, label);
  });
  EXPECT_EQ(session.position(), 100);
}

TEST_F(Documented, AnEagerTrainer) {
  using digits::Mlp;
  const std::int64_t columns = 64, width = 20;
  const auto [train, test] = Dataset(images, labels).split(0.8);
  Parameters parameters(Device::cpu());
  Mlp net(parameters.root(), {.in = columns, .hidden = width});
  EagerNet eager(parameters, [&](EagerTape& tape, std::span<const float> x, std::span<const std::int32_t> y) {
    const Var in = tape.input(x, {columns}), label = tape.input(y);
    return net.loss(in, label);
  });
  Trainer trainer(eager, optimizer, {.global_batch = 512});
  trainer.fit(train, {.epochs = 20, .validate = test});
  const double accuracy = trainer.evaluate(test).metric(trainer.session().metric("accuracy"));
  EXPECT_EQ(accuracy, trainer.evaluate(test).metric(0));
  const std::vector<float> all = trainer.predict(test, [&](EagerTape& tape, std::span<const float> x, auto) {
    return net.predict(tape.input(x, {columns}));
  });
  EXPECT_EQ(std::ssize(all), test.size() * 10);
  EagerTape tape(parameters, 3);
  const Tensor scores = value(net.predict(tape.input(std::span(images).first(3 * 64), {columns})));
  const std::span<const float> numbers = scores.values<float>();
  EXPECT_EQ(numbers.size(), 30u);
}

}  // namespace documented_eager_nets_test
