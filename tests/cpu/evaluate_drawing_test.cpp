// `.evaluate_drawing`: evaluations include noise that belongs to a model, such as a channel's, and all draw the same.
#include <gtest/gtest.h>

#include "../compiled_against_reference.hpp"

namespace evaluate_drawing_test {

using namespace against_reference;

/// A noisy channel, and a receiver with dropout of its weights.
struct Channel {
  nn::Linear send, receive;
  constexpr explicit Channel(Scope s) : send(s / "send", 9, 4), receive(s / "receive", 4, 9) {}
  constexpr Var predict(Var x) const {
    const Var sent = tanh(send(x)), received = sent + 0.5 * normal_like(sent);
    return matmul(received, dropout(receive.weight().on(x), 0.25)) + receive.bias();
  }
  constexpr Loss loss(Var x) const { return {square(select(predict(x), 1, 0) - select(x, 1, 0))}; }
};
using Net = Compiled<Channel, Inputs<f32[9]>>;
constexpr std::int64_t count = 60;

TEST(EvaluateDrawing, HasTheLossesOfPredictionsThatDrawWhateverTheMicroBatch) {
  const auto x = numbers(count * 9);
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = count, .seed = 3, .evaluate_drawing = true});
  Session parts(Net{}, Accumulate{Sgd{}},
                {.global_batch = count, .micro_batch = 7, .seed = 3, .threads = 2, .evaluate_drawing = true});
  Inference<Drawing<Net>> draw(session.parameters().values(), count);
  std::vector<float> drawn(count * 9), losses;
  draw({.seed = 3, .round = Randomness::evaluation}, x, drawn);
  for (std::size_t i = 0; i < count; ++i) losses.push_back((drawn[i * 9] - x[i * 9]) * (drawn[i * 9] - x[i * 9]));
  EXPECT_EQ(session.losses(x), losses);
  EXPECT_EQ(parts.losses(x), losses);
  EXPECT_EQ(parts.evaluate(x).loss(), session.evaluate(x).loss());
  Session plain(Net{}, Accumulate{Sgd{}}, {.global_batch = count, .seed = 3});
  EXPECT_NE(plain.evaluate(x).loss(), session.evaluate(x).loss());
  EXPECT_EQ(plain.predict(x), session.predict(x)) << "predictions draw nothing";
}

TEST(EvaluateDrawing, ChangesNothingOfWhatIsLearned) {
  const auto x = numbers(count * 9);
  Session plain(Net{}, Accumulate{Sgd{}}, {.global_batch = count, .seed = 3});
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = count, .seed = 3, .evaluate_drawing = true});
  const double first = session.evaluate(x).loss();
  for (std::size_t at = 0; at < count; at += 20) {
    plain.accumulate(std::span(x).subspan(at * 9, 20 * 9));
    session.accumulate(std::span(x).subspan(at * 9, 20 * 9));
    if (at < 40) { EXPECT_EQ(session.evaluate(x).loss(), first); }
  }
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_NE(session.last_window().loss(), first) << "other numbers than those of training";
  EXPECT_EQ(differing_bits(session.parameter_bytes(), plain.parameter_bytes()), 0);
}

TEST(EvaluateDrawing, HasTheBitsOfEagerSessions) {
  const auto x = numbers(count * 9);
  Parameters parameters(Device::cpu());
  const Channel net(parameters.root());
  Session eager(parameters, Accumulate{Sgd{}},
                {.global_batch = count, .micro_batch = 8, .seed = 3, .evaluate_drawing = true});
  Session compiled(Net{}, Accumulate{Sgd{}}, {.global_batch = count, .seed = 3, .evaluate_drawing = true});
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9})); };
  EXPECT_EQ(eager.losses(count, record), compiled.losses(x));
  eager.accumulate(count, record), compiled.accumulate(x);
  EXPECT_EQ(eager.evaluate(count, record).loss(), compiled.evaluate(x).loss());
  EXPECT_EQ(eager.predict(count, [&](EagerTape& tape) { return net.predict(tape.input(x, {9})); }), compiled.predict(x));
  EXPECT_EQ(differing_bits(std::as_bytes(compiled.parameters().values()), eager.parameter_bytes()), 0);
}

TEST(EvaluateDrawing, IsATrainersValidationToo) {
  const auto x = numbers(count * 9);
  const auto [train, test] = Dataset<f32>::of(count, x).split(0.5);
  Trainer trainer(Net{}, Accumulate{Sgd{}}, {.global_batch = 10, .evaluate_drawing = true});
  Trainer plain(Net{}, Accumulate{Sgd{}}, {.global_batch = 10});
  const double drawn = trainer.fit(train, {.epochs = 2, .validate = test}).back().validation.loss();
  EXPECT_EQ(drawn, trainer.evaluate(test).loss());
  EXPECT_NE(drawn, plain.fit(train, {.epochs = 2, .validate = test}).back().validation.loss());
}

}  // namespace evaluate_drawing_test
