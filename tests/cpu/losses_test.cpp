// Losses of single samples: those that are averaged, before weighting, whatever they are computed together with.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../models.hpp"

namespace losses_test {

using namespace models;

constexpr auto optimizer = Accumulate{Sgd{}};

struct Losses : testing::Test {
  const std::vector<float> x = numbers(100 * 9);
  const std::vector<std::int32_t> y = labels(100, 5);
};

TEST_F(Losses, AreThoseOfEachSampleAlone) {
  for (const std::int64_t micro_batch : {1, 7, 64}) {
    Session plain(ClassifierNet{}, optimizer, {.global_batch = 128, .micro_batch = micro_batch});
    Session asked(ClassifierNet{}, optimizer, {.global_batch = 128, .micro_batch = micro_batch});
    plain.accumulate(x, y), asked.accumulate(x, y);
    const std::vector<float> losses = asked.losses(x, y);
    ASSERT_EQ(losses.size(), 100u);
    double sum = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      ASSERT_EQ(losses[i], asked.evaluate(std::span(x).subspan(9 * i, 9), std::span(y).subspan(i, 1)).loss()) << i;
      sum += losses[i];
    }
    EXPECT_EQ(sum / 100, asked.evaluate(x, y).loss());
    plain.accumulate(x, y), asked.accumulate(x, y);  // the rest of a window
    EXPECT_EQ(differing_bits(plain.parameter_bytes(), asked.parameter_bytes()), 0);
  }
}

TEST_F(Losses, AreTheSameOfTrainersAndEagerNets) {
  Trainer trainer(ClassifierNet{}, optimizer, {.global_batch = 64, .seed = 3});
  const std::vector<float> losses = trainer.losses(Dataset(x, y));
  EXPECT_EQ(losses, trainer.session().losses(x, y));
  Trainer one_of(ClassifierNet::KeepingOneOf<100, 50>{}, optimizer, {.global_batch = 64, .seed = 3});
  EXPECT_EQ(one_of.losses(Dataset(x, y)), losses);
  Parameters parameters(Device::cpu());
  const Classifier model(parameters.root());
  EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
    const Var values = tape.input(in, {9}), of = tape.input(label);
    return model.loss(values, of);
  });
  Trainer eager(net, optimizer, {.global_batch = 64, .micro_batch = 7, .seed = 3});
  EXPECT_EQ(eager.losses(Dataset(x, y)), losses);
  const auto record = [&](EagerTape& tape) {
    const Var values = tape.input(x, {9}), of = tape.input(y);
    return model.loss(values, of);
  };
  EXPECT_EQ(eager.session().losses(100, record), losses);
}

TEST_F(Losses, AreNotWeighted) {
  const std::vector<float> in = numbers(5 * 4), target = numbers(5 * 3, 2), ones(5, 1), weights = {0, 2, -1, 0.5f, 3};
  Session session(WeightedNet{}, optimizer, {.global_batch = 8, .reduction = Reduction::sum});
  EXPECT_EQ(session.losses(in, target, weights), session.losses(in, target, ones));
}

/// A loss for each token.
struct Tagger {
  nn::Embedding scores;
  constexpr explicit Tagger(Scope s) : scores(s / "scores", 11, 4) {}
  constexpr Loss loss(Var token, Var tag) const { return cross_entropy(scores(token), tag, -1); }
};

TEST_F(Losses, AreThoseOfTokens) {
  Session session(Compiled<Tagger, Inputs<i32[3], i32[3]>>{}, optimizer, {.global_batch = 8, .micro_batch = 2});
  const std::vector<std::int32_t> tokens = labels(15, 11), tags = {0, 1, -1, 3, 2, 1, -1, -1, -1, 0, 0, 0, 1, 2, 3};
  const std::vector<float> losses = session.losses(tokens, tags);
  ASSERT_EQ(losses.size(), 15u);
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_EQ(losses[i] == 0, tags[i] == -1) << i;
}

TEST_F(Losses, RefusesWhatIsNoData) {
  Session session(ClassifierNet{}, optimizer, {.global_batch = 64});
  EXPECT_EQ(error_of<DataError>([&] { session.losses(x, std::vector<std::int32_t>(100, 5)); }),
            "input 1, sample 0: label 5 is outside the 5 classes 0 to 4");
  Session sam(ClassifierNet{}, Accumulate{Sam{Sgd{}}}, {.global_batch = 100});
  sam.accumulate(x, y);
  EXPECT_EQ(error_of<OptionError>([&] { sam.losses(x, y); }),
            "losses: the parameters are displaced until the window is given again");
}

}  // namespace losses_test
