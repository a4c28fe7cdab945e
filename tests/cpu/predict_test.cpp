// Predictions by trainers and sessions: the bits of an `Inference`, in the memory of training, which continues unchanged.
#include <gtest/gtest.h>

#include <cstring>

#include "../count_allocations.hpp"
#include "../error_of.hpp"
#include "../models.hpp"

namespace predict_test {

using namespace models;

constexpr auto optimizer = Accumulate{Adam{.learning_rate = 0.01f}};

struct Predict : testing::Test {
  const std::vector<float> x = numbers(100 * 9);
  const std::vector<std::int32_t> y = labels(100, 5);
  const Dataset<float, std::int32_t> data{x, y};

  std::vector<float> inferred(const auto& parameters) const {
    std::vector<float> out(100 * 5);
    Inference<ClassifierNet>(parameters.values(), 100)(x, out);
    return out;
  }
};

TEST_F(Predict, GivesTheBitsOfAnInferenceAndLeavesTrainingAsItIs) {
  for (const std::int64_t micro_batch : {1, 7, 64}) {
    Session plain(ClassifierNet{}, optimizer, {.global_batch = 64, .micro_batch = micro_batch}),
        asked(ClassifierNet{}, optimizer, {.global_batch = 64, .micro_batch = micro_batch});
    for (auto [a, b] : data.batches(30)) {
      plain.accumulate(a, b), asked.accumulate(a, b);
      EXPECT_GT(asked.position(), 0);
      const std::span<std::byte> block = asked.transient_bytes();
      std::memset(block.data(), 0xff, block.size());  // NaN wherever unwritten memory is read
      const std::int64_t blocks = block_bytes;
      const std::vector<float> scores = asked.predict(x);
      EXPECT_EQ(block_bytes, blocks);
      EXPECT_EQ(scores, inferred(asked.parameters())) << micro_batch;
    }
    EXPECT_EQ(plain.flush() + asked.flush(), 2);
    EXPECT_EQ(differing_bits(plain.parameter_bytes(), asked.parameter_bytes()), 0);
    EXPECT_EQ(differing_bits(plain.optimizer_state_bytes(), asked.optimizer_state_bytes()), 0);
  }
}

TEST_F(Predict, AsksTrainersLikewise) {
  Trainer trainer(ClassifierNet{}, optimizer, {.global_batch = 64});
  Trainer one_of(ClassifierNet::KeepingOneOf<100, 50>{}, optimizer, {.global_batch = 64});
  trainer.fit(data, {.epochs = 1, .on_micro_batch = [&](std::int64_t) {
                       EXPECT_EQ(trainer.predict(x), inferred(trainer.parameters()));
                     }});
  one_of.fit(data);
  EXPECT_EQ(trainer.predict(x), one_of.predict(x));
  EXPECT_EQ(trainer.predict(std::span(x).first(9)).size(), 5u);
}

/// Its prediction takes more memory than its training, and reads a function of its parameters.
struct Wide {
  Parameter weight;
  constexpr explicit Wide(Scope s) : weight(s.parameter("weight", Shape{4, 4}, init::uniform(0.9))) {}
  constexpr Var predict(Var x) const {
    const Var column = reshape(matmul(x, exp(weight.on(x))), Shape::per_sample({4, 1}));
    const Var wide = broadcast(column, Shape::per_sample({4, 900})), waves = sin(wide + convert(iota(wide, 2), DType::f32));
    return flatten(matmul(waves, waves, false, true));
  }
  constexpr Loss loss(Var x) const { return {mean_per_sample(x * select(weight.on(x), 0, 0))}; }
};

TEST_F(Predict, TakesABlockWhereItsOwnIsTooSmall) {
  using Net = Compiled<Wide, Inputs<f32[4]>>;
  Session session(Net{}, optimizer, {.global_batch = 1});
  const std::vector<float> in = numbers(7 * 4);
  std::vector<float> expected(7 * 16);
  Inference<Net>(session.parameters().values(), 7)(in, expected);
  const MemoryTable needed = Net::inference_memory(1);
  EXPECT_GT(needed.transient(), session.memory().transient());
  const std::int64_t blocks = block_bytes;
  EXPECT_EQ(session.predict(in), expected);
  EXPECT_EQ(block_bytes - blocks, needed.derived + needed.transient());
}

TEST_F(Predict, RefusesWhatIsNoData) {
  Session session(ClassifierNet{}, optimizer, {.global_batch = 64});
  EXPECT_EQ(error_of<DataError>([&] { session.predict(std::span(x).first(10)); }),
            "input 0: 10 values are not whole samples of 9");
  std::vector<float> bad(9);
  bad[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of<DataError>([&] { session.predict(bad); }), "input 0, sample 0: value 3 is NaN");
  Session sam(ClassifierNet{}, Accumulate{Sam{Sgd{}}}, {.global_batch = 100});
  sam.accumulate(x, y);
  EXPECT_EQ(error_of<OptionError>([&] { sam.predict(x); }),
            "predict: the parameters are displaced until the window is given again");
}

TEST_F(Predict, GivesNothingOfNoSamples) {
  const std::vector<float> none;
  const std::vector<std::int32_t> no_labels;
  Session session(ClassifierNet{}, optimizer, {.global_batch = 64});
  EXPECT_TRUE(session.predict(none).empty());
  EXPECT_TRUE(session.losses(none, no_labels).empty());
  Inference<ClassifierNet> classify(session.parameters());
  std::vector<float> out(5, 7.0f);
  classify(none, std::span(out).first(0));
  EXPECT_EQ(error_of<DataError>([&] { classify(none, out); }), "a batch of 0 samples");  // with five outputs
  EXPECT_EQ(out, std::vector<float>(5, 7.0f));
  EXPECT_EQ(error_of<DataError>([&] { session.losses(none, y); }),
            "input 1 holds 100 samples (100 values), input 0 holds 0 (0 values, 9 for each)");
  EXPECT_EQ(error_of<DataError>([&] { session.evaluate(none, no_labels); }), "a batch of 0 samples");
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate(none, no_labels); }), "a batch of 0 samples");

  Parameters parameters(Device::cpu());
  const Classifier model(parameters.root());
  Session eager(parameters, optimizer, {.global_batch = 64});
  const auto record = [&](EagerTape& tape) {
    const Var in = tape.input(none, {9}), label = tape.input(no_labels);
    return model.loss(in, label);
  };
  EXPECT_TRUE(eager.predict(0, [&](EagerTape& tape) { return model.predict(tape.input(none, {9})); }).empty());
  EXPECT_TRUE(eager.losses(0, record).empty());
  EXPECT_EQ(error_of<DataError>([&] { eager.evaluate(0, record); }), "a batch of 0 samples");
}

struct EagerPredict : Predict {
  Parameters parameters{Device::cpu()};
  const Classifier model{parameters.root()};
  const EagerNet<float, std::function<Loss(EagerTape&, std::span<const float>, std::span<const std::int32_t>)>> net{
      parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
        const Var values = tape.input(in, {9}), of = tape.input(label);
        return model.loss(values, of);
      }};
};

TEST_F(EagerPredict, GivesTheBitsOfAnInference) {
  for (const std::int64_t micro_batch : {7, 64}) {
    Trainer trainer(net, optimizer, {.global_batch = 64, .micro_batch = micro_batch});
    trainer.fit(data);
    const std::vector<float> scores =
        trainer.predict(data, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t>) {
          return model.predict(tape.input(in, {9}));
        });
    EXPECT_EQ(scores, inferred(parameters));
    EXPECT_EQ(trainer.session().predict(100, [&](EagerTape& tape) { return model.predict(tape.input(x, {9})); }), scores);
  }
}

TEST_F(EagerPredict, RefusesWhatIsNoPrediction) {
  Session session(parameters, optimizer, {.global_batch = 64});
  const auto error_of_predicting = [&]<class E>(E, auto record) {
    return error_of<E>([&] { session.predict(100, [&](EagerTape& tape) { return record(tape.input(x, {9})); }); });
  };
  EXPECT_EQ(error_of_predicting(TypeError(""), [](Var in) { return argmax(in); }),
            "predict: needs float values, got int32; `convert` makes them floats");
  EXPECT_EQ(error_of_predicting(ShapeError(""), [](Var in) { return transpose(in, {1, 0}); }),
            "predict: needs one value per sample, shape [batch, ...], got [9, batch]");
  EXPECT_EQ(error_of_predicting(TapeError(""), [](Var) { return Var{}; }), "predict: an operand is an empty Var");
  EXPECT_EQ(error_of_predicting(ShapeError(""), [&](Var in) {
              const Var of_batch = gradients(sum(model.predict(in), {1}), {model.output.bias().on(in)})[0];
              return in * sum(of_batch, {0});
            }), "predict: a value that contains a gradient over the batch depends on how the batch is cut");
  EXPECT_EQ(error_of<DataError>([&] { session.predict(-1, [&](EagerTape& tape) { return tape.input(x, {9}); }); }),
            "a batch of -1 samples");
}

}  // namespace predict_test
