// A trained net saved, loaded and run forward only.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "../models.hpp"

using namespace models;

namespace {

struct InferenceOfClassifier : testing::Test {
  std::string file = (std::filesystem::temp_directory_path() / ("gradual_inference_" + std::to_string(::getpid()))).string();
  std::vector<float> x = numbers(100 * 9);
  std::vector<std::int32_t> y = labels(100, 5);
  Trainer<ClassifierNet, Accumulate<Adam>> trainer{ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 64, .seed = 2}};
  InferenceOfClassifier() { trainer.fit(Dataset(x, y), {.epochs = 3}); }
  ~InferenceOfClassifier() override { std::filesystem::remove(file); }
};

TEST_F(InferenceOfClassifier, GivesTheSameBitsInAnyBatchAndAfterAFile) {
  trainer.save(file);
  Inference<ClassifierNet> one(load(file)), many(trainer.parameters().values(), 64);
  std::vector<float> a(500), b(500);
  one(x, a);
  many(x, b);
  EXPECT_EQ(a, b);
  const Tape tape = thaw(ClassifierNet::Prediction::graph);
  EXPECT_EQ(tape.roots.size(), 1u);
}

TEST_F(InferenceOfClassifier, CopiesShareWeightsAndRunInThreads) {
  const Inference<ClassifierNet> classify(trainer.parameters().values());
  std::vector<float> a(500), b(500);
  std::thread other([&, mine = classify]() mutable { mine(x, b); });
  Inference<ClassifierNet> here = classify;
  here(x, a);
  other.join();
  EXPECT_EQ(a, b);
}

TEST_F(InferenceOfClassifier, RefusesOtherFilesByName) {
  trainer.save(file);
  Trainer<SequenceNet, Accumulate<Sgd>> sequence{SequenceNet{}, Accumulate{Sgd{}}, {.global_batch = 4}};
  const std::vector<float> before(sequence.parameters().values().begin(), sequence.parameters().values().end());
  EXPECT_THROW(sequence.load(file), FileError);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), sequence.parameters().values().begin()));
  std::vector<float> out(3);
  Inference<ClassifierNet> classify(load(file));
  EXPECT_THROW(classify(x, out), DataError);
}

TEST_F(InferenceOfClassifier, EvaluatesToTheSameBitsInBatchesOfOneOrAll) {
  Session small(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 1, .seed = 4}), large(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 100, .seed = 4});
  EXPECT_EQ(small.evaluate(x, y).loss(), large.evaluate(x, y).loss());
  EXPECT_EQ(small.evaluate(x, y).metric(0), large.evaluate(x, y).metric(0));
}

TEST(Trainers, WideTargetsNeedTheNumberOfSamples) {
  const auto x = numbers(30 * 18), y = numbers(30 * 6, 2);
  Trainer trainer(SequenceNet{}, Accumulate{Sgd{.learning_rate = 0.01f}}, {.global_batch = 10});
  EXPECT_THROW(trainer.fit(Dataset(x, y), {.epochs = 1}), DataError);
  const auto data = Dataset<float, float>::of(30, x, y);
  const History history = trainer.fit(data, {.epochs = 3});
  EXPECT_EQ(history.back().steps, 9);
  EXPECT_LT(history.back().training.loss(), history.front().training.loss());
  EXPECT_THROW((Dataset<float, float>::of(0, x, y)), DataError);
}

TEST_F(InferenceOfClassifier, TheTrainersMicroBatchChangesNoBit) {
  Trainer small(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 64, .micro_batch = 5, .seed = 2});
  small.fit(Dataset(x, y), {.epochs = 3});
  EXPECT_TRUE(std::equal(small.parameters().values().begin(), small.parameters().values().end(), trainer.parameters().values().begin()));
}

}  // namespace
