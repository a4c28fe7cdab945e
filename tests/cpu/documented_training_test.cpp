// Data, trainers and loops of one's own: the code of the guide to training.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../documented.hpp"

namespace documented_training_test {

using namespace documented;

TEST_F(Documented, Data) {
  std::ofstream("flowers.csv") << "length,width,other length,other width,species\n5.1,3.5,1.4,0.2,setosa\n"
                                  "7.0,3.2,4.7,1.4,versicolor\n6.3,3.3,6.0,2.5,virginica\n4.9,3.0,1.4,0.2,setosa\n"
                                  "6.4,3.2,4.5,1.5,versicolor\n";
  Table table = read_csv("flowers.csv", {.header = true, .text = {{"species", {}}}});
  table.shuffle(0);
  const auto [learned, tested] = table.split(0.8);
  std::vector<float> x = learned.take(0, 4), tested_x = tested.take(0, 4);
  const std::vector<std::int32_t> y = learned.labels("species"), tested_y = tested.labels("species");
  const Normalizer normalizer = Normalizer::fit(x, 4);
  normalizer.apply(x);
  normalizer.apply(tested_x);
  const Dataset train(x, y), test(tested_x, tested_y);
  EXPECT_EQ(train.size(), 4);
  EXPECT_EQ(test.size(), 1);
}

TEST_F(Documented, RowsToPredict) {
  const Table table = parse_csv("kind,length,species\ntree,12,oak\nshrub,2,box\n",
                                {.header = true, .text = {{"kind", Categories({"other", "shrub", "tree"})}, {"species", {}}}});
  const Table row = parse_csv("tree,5.1", {.names = {"kind", "length"}, .text = table.text, .unknown = {{"kind", 0}}});
  EXPECT_EQ(row.values, (std::vector<float>{2, 5.1f}));
  EXPECT_EQ(table.take_rows(std::vector{1}).labels("species"), std::vector<std::int32_t>{0});
}

TEST_F(Documented, CrossValidation) {
  std::vector<double> losses;
  constexpr int folds = 5, features = 64, fold = 128;
  for (int f = 0; f < folds; ++f) {
    const Dataset all(images, labels);
    const auto held_back = all.subset(0, fold), learned = all.subset(fold, all.size() - fold);
    Trainer trainer(Net{}, optimizer, {.global_batch = 512});
    trainer.fit(learned, {.epochs = 20});
    losses.push_back(trainer.evaluate(held_back).loss());
    std::rotate(images.begin(), images.begin() + fold * features, images.end());
    std::rotate(labels.begin(), labels.begin() + fold, labels.end());
  }
  EXPECT_EQ(labels, models::labels(640, 10)) << "each fold was held back once";
  EXPECT_EQ(losses.size(), 5u);
}

TEST_F(Documented, ATrainer) {
  const auto [train, test] = Dataset(images, labels).split(0.8);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .memory_budget = 256_KiB});
  EXPECT_EQ(trainer.session().options().micro_batch, planned(39, 46, 49));
  trainer.fit(train, {.epochs = 100, .validate = test});
  const History history = trainer.fit(train, {.epochs = 100, .validate = test, .patience = 5});
  const Averages seen = trainer.evaluate(test);
  const double accuracy = seen.metric(Net::metric("accuracy"));
  EXPECT_LT(history.size(), 100u) << "labels without a meaning: the validation loss gets worse";
  const ConfusionMatrix guesses(trainer.predict(std::span(images).last(128 * 64)), std::span(labels).last(128));
  EXPECT_EQ(accuracy, guesses.accuracy());
  EXPECT_LE(seen.loss(), history.back().validation.loss());

  trainer.fit(train, {.epochs = 100,
                      .validate = test,
                      .patience = 5,
                      .monitor = [](const EpochRecord& epoch) { return -epoch.validation.metric(Net::metric("accuracy")); },
                      .on_step = [&](std::int64_t step, const Averages& window) {
                        if (window.loss() < 0.01 || step == 10'000) trainer.stop();
                      }});

  trainer.save("digits.safetensors");
  Inference<Net> classify(load("digits.safetensors"), 64);
  std::vector<float> scores(64 * Inference<Net>::output_width());
  classify(std::span(images).first(64 * 64), scores);
  EXPECT_NE(scores[0], scores[1]);
  EXPECT_EQ(trainer.predict(std::span(images).first(64 * 64)), scores);
}

/// Calls f with the rule of a name.
auto with_rule(std::string_view name, auto f) {
  if (name == "sgd") return f(Sgd{.learning_rate = 0.1, .momentum = 0.9});
  if (name == "adam") return f(Adam{.learning_rate = 5e-3});
  throw std::invalid_argument("no such rule: " + std::string(name));
}

TEST_F(Documented, ARuleChosenAtRunTime) {
  const auto [train, test] = Dataset(images, labels).split(0.8);
  const auto loss_of = [&](std::string_view name) {
    const double loss = with_rule(name, [&](auto rule) {
      Trainer trainer(Net{}, Accumulate{rule}, {.global_batch = 512});
      trainer.fit(train, {.epochs = 20});
      return trainer.evaluate(test).loss();
    });
    return loss;
  };
  EXPECT_NE(loss_of("sgd"), loss_of("adam"));
  EXPECT_THROW(loss_of("rprop"), std::invalid_argument);
}

TEST_F(Documented, RareClasses) {
  const Dataset train(images, labels);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512});
  std::array<double, 10> count{};
  for (const std::int32_t label : labels) ++count[label];
  std::vector<double> weights;
  for (const std::int32_t label : labels) weights.push_back(1 / count[label]);
  trainer.fit(train, {.epochs = 20, .draw = weights});
  std::vector<std::int32_t> order(100'000);
  const WeightedDraw draw(weights);
  draw(order, 1, 0);
  std::array<int, 10> drawn{};
  for (const std::int32_t i : order) ++drawn[labels[i]];
  for (const int times : drawn) EXPECT_NEAR(times, 10'000, 400);  // four deviations
}

TEST_F(Documented, AugmentedData) {
  std::vector<float> shown = images;
  const auto learn = [&](auto& trainer) {
    const auto shift = [&](int epoch) {  // each image of 8 × 8 pixels by one at most
      std::mt19937 random(static_cast<unsigned>(epoch));
      for (std::size_t image = 0; image < images.size(); image += 64) {
        const int down = static_cast<int>(random() % 3) - 1, right = static_cast<int>(random() % 3) - 1;
        for (int row = 0; row < 8; ++row)
          for (int column = 0; column < 8; ++column) {
            const int above = row - down, left = column - right;
            const bool inside = above >= 0 && above < 8 && left >= 0 && left < 8;
            shown[image + row * 8 + column] = inside ? images[image + above * 8 + left] : 0;
          }
      }
    };
    shift(trainer.epoch());
    trainer.fit(Dataset(shown, labels), {.epochs = 20 - trainer.epoch(),
                                         .on_epoch = [&](const EpochRecord& epoch) { shift(epoch.epoch + 1); }});
  };
  Trainer whole(Net{}, optimizer, {.global_batch = 512}), first(Net{}, optimizer, {.global_batch = 512});
  learn(whole);
  EXPECT_EQ(whole.epoch(), 20);
  EXPECT_NE(shown, images);
  first.fit(Dataset(images, labels), {.epochs = 3});
  first.save_state("augmented.safetensors");
  learn(first);
  Trainer second(Net{}, optimizer, {.global_batch = 512});
  second.load_state("augmented.safetensors");
  learn(second);
  EXPECT_TRUE(std::ranges::equal(first.parameters().values(), second.parameters().values()));
  EXPECT_FALSE(std::ranges::equal(first.parameters().values(), whole.parameters().values()));
}

TEST_F(Documented, Resuming) {
  const Dataset train(images, labels);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .memory_budget = 256_KiB});
  if (std::filesystem::exists("run.safetensors")) trainer.load_state("run.safetensors");
  trainer.fit(train, {.epochs = 100 - trainer.epoch(),
                      .on_epoch = [&](const EpochRecord&) { trainer.save_state("run.safetensors"); }});
  EXPECT_EQ(trainer.epoch(), 100);
  EXPECT_TRUE(std::filesystem::exists("run.safetensors"));
}

TEST_F(Documented, ALoopThatGivesEachWindowTwice) {
  const Dataset train = Dataset(images, labels).subset(0, 600);
  Session session(Net{}, Accumulate{Sam{Adam{}}}, {.global_batch = 64});
  for (auto [x, y] : train.batches(64)) do {
      session.accumulate(x, y);
      if (session.position() > 0) session.flush();  // the last, which has fewer samples
    } while (session.again());
  save_parameters("digits.safetensors", session.parameters());
  EXPECT_EQ(session.step_count(), 10);
  EXPECT_EQ(session.last_window().count(), 24);
}

TEST_F(Documented, ALoopThatIsResumed) {
  const Dataset train = Dataset(images, labels).subset(0, 632);
  for (int run = 0; run < 2; ++run) {  // the second has nothing left to do
    Session session(Net{}, optimizer, {.global_batch = 512, .micro_batch = 64});
    std::int64_t done = 0;
    if (std::filesystem::exists("loop.safetensors")) {
      const Checkpoint file = load("loop.safetensors");
      session.restore(file);
      done = std::stoll(file.note("done"));
    }
    while (done < train.size()) {
      const std::int64_t count = std::min<std::int64_t>(64, train.size() - done);
      train.subset(done, count).apply([&](auto... data) { session.accumulate(data...); });
      Checkpoint file = session.state();
      file.notes["done"] = std::to_string(done += count);
      save("loop.safetensors", file);
    }
    EXPECT_EQ(session.step_count(), 1);
    EXPECT_EQ(session.position(), 120);
  }
}

TEST_F(Documented, ALoopOfOnesOwn) {
  const Dataset train(images, labels);
  {
    Session session(Net{}, optimizer, {.global_batch = 512, .micro_batch = 64});
    for (auto [x, y] : train.batches(64)) session.accumulate(x, y);
    session.flush();
    session.parameters()["hidden/weight"].values;
    save_parameters("digits.safetensors", session.parameters());
    EXPECT_EQ(session.step_count(), 2);
    EXPECT_TRUE(std::filesystem::exists("digits.safetensors"));
  }
  Session session(Net{}, optimizer, {.global_batch = 512, .micro_batch = 64, .gather = true});
  std::vector<std::int32_t> order(static_cast<std::size_t>(train.size()));
  for (std::uint64_t epoch = 0; epoch < 100; ++epoch) {
    shuffle(order, 1, epoch);
    for (std::int64_t done = 0; done < train.size();) {
      const auto rows = std::span(order).subspan(static_cast<std::size_t>(done));
      train.apply([&](auto... data) { session.accumulate_rows(rows, epoch, true, done, data...); });
    }
  }
  EXPECT_EQ(session.step_count(), 200);
}

struct Learner {
  Session<Net, Accumulate<Adam>> session{Net{}, optimizer, {.global_batch = 512, .micro_batch = 64}};
  Trainer<Net, Accumulate<Adam>> trainer{Net{}, optimizer, {.global_batch = 512}};
  Inference<Net> newest{session.parameters()};
};
TEST_F(Documented, MembersOfAClass) {
  Learner learner;
  const auto seen = [&](auto& of) { return of.predict(std::span(images).first(64)); };
  std::vector<float> scores(10);
  learner.newest(std::span(images).first(64), scores);
  EXPECT_EQ(seen(learner.session), scores);
  EXPECT_EQ(seen(learner.trainer), scores);
}

TEST_F(Documented, GradientNoise) {
  const Dataset train(images, labels);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .noise_batch = 64});
  gradual::GradientNoise sum;
  trainer.fit(train, {.epochs = 10, .on_step = [&](auto, auto&) { sum += trainer.session().gradient_noise(); }});
  testing::internal::CaptureStdout();
  std::cout << sum.scale();
  EXPECT_NE(std::stod(testing::internal::GetCapturedStdout()), 0);
}

}  // namespace documented_training_test
