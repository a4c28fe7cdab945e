// The samples that an epoch leaves in an unfinished window, rows that are given by their places, and rates that follow the
// window.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "../error_of.hpp"
#include "../models.hpp"

namespace tails_test {

using namespace models;

/// The gradient of p is x.
struct Mean {
  Parameter p;
  constexpr explicit Mean(Scope s) : p(s.parameter("p", Shape{1}, init::constant(0))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(p * x, {-1})); }
};
using MeanNet = Compiled<Mean, Inputs<f32[1]>>;

/// Ten samples of gradient 1, and trainers with windows of 4.
struct Tails : testing::Test {
  const std::vector<float> x = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  template <class Rule>
  auto trainer(Tail tail, const Rule& rule) const {
    return Trainer(MeanNet{}, Accumulate{rule}, {.global_batch = 4, .micro_batch = 3, .tail = tail});
  }
  static auto quiet(int epochs) { return FitOptions<Dataset<float>>{.epochs = epochs, .progress = Progress::never}; }
};

TEST_F(Tails, StepAreCarriedOrDropped) {  // case 3
  const auto rule = Sgd{.learning_rate = 1.0f};
  const auto set = Dataset<float>::of(10, x);
  struct {
    Tail tail;
    std::int64_t steps, left, seen_first, seen_second;
  } const cases[] = {{Tail::step, 6, 0, 10, 10}, {Tail::carry, 5, 0, 8, 12}, {Tail::drop, 4, 0, 8, 8}};
  for (const auto& c : cases) {
    auto one = trainer(c.tail, rule);
    const History history = one.fit(set, quiet(2));
    EXPECT_EQ(one.session().step_count(), c.steps);
    EXPECT_EQ(one.session().position(), c.left);
    EXPECT_EQ(history[0].training.count(), c.seen_first);
    EXPECT_EQ(history[1].training.count(), c.seen_second);
    EXPECT_EQ(one.parameters()["p"].values[0], -static_cast<float>(c.steps));
  }
  auto carried = trainer(Tail::carry, rule);
  carried.fit(set, quiet(1));
  EXPECT_EQ(carried.session().position(), 2);
  const std::string file = testing::TempDir() + "gradual_tail_" + std::to_string(::getpid());
  carried.save_state(file);
  auto resumed = trainer(Tail::carry, rule);
  resumed.load_state(file);
  std::remove(file.c_str());
  resumed.fit(set, quiet(1));
  EXPECT_EQ(resumed.session().step_count(), 5);
  EXPECT_EQ(resumed.session().flush(), 0);
}

TEST_F(Tails, AreCarriedOutOfAFitWhosePatiencePutsNothingBack) {
  const auto set = Dataset<float>::of(10, x);
  for (const double worse : {0.0, 1.0}) {
    auto one = trainer(Tail::carry, Sgd{.learning_rate = 1.0f});
    auto options = quiet(2);
    options.patience = 9;
    options.monitor = [&](const EpochRecord& epoch) { return worse * epoch.epoch - epoch.epoch * (1 - worse); };
    one.fit(set, options);
    EXPECT_EQ(one.session().step_count(), 5);
    EXPECT_EQ(one.parameters()["p"].values[0], worse > 0 ? -2.0f : -5.0f);
  }
  auto one = trainer(Tail::carry, Sgd{.learning_rate = 1.0f});
  auto options = quiet(1);
  options.patience = 9;
  options.monitor = [](const EpochRecord&) { return 0.0; };
  one.fit(set, options);
  EXPECT_EQ(one.session().position(), 2);
  EXPECT_EQ(one.session().flush(), 1);
}

TEST(TailsOfAProduct, MayEndInsideABlock) {  // also where micro-batches are whole windows or blocks
  const auto images = numbers(260 * 9);
  const auto classes = labels(260, 5);
  const Dataset set(images, classes);
  for (const Tail tail : {Tail::carry, Tail::drop})
    for (const std::int64_t window : {12, 200})
      for (const std::int64_t micro_batch : {std::int64_t{0}, window, std::min<std::int64_t>(window, 128)}) {
        Trainer one(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = window, .micro_batch = micro_batch, .tail = tail});
        one.fit(set, {.epochs = 2, .progress = Progress::never});
        EXPECT_EQ(one.session().step_count(), tail == Tail::carry ? 520 / window : 2 * (260 / window));
        EXPECT_EQ(one.session().position(), tail == Tail::carry ? 520 % window : 0);
      }
  Session lean(ClassifierNet{}, Accumulate{Sgd{}},
               {.global_batch = 200, .micro_batch = 128, .open_blocks = OpenBlocks::as_needed, .gather = true});
  const std::vector<std::int32_t> rows = {3, 1, 4};
  std::int64_t taken = 0;
  EXPECT_THROW(lean.accumulate_rows(rows, 0, false, taken, images, classes), OptionError);
  EXPECT_EQ(lean.position(), 0);
  lean.accumulate_rows(rows, 0, true, taken, images, classes);
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(lean.step_count(), 1);
  Session in_place(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 200});
  for (const std::int32_t row : rows)
    in_place.accumulate(std::span(images).subspan(static_cast<std::size_t>(row) * 9, 9),
                        std::span(classes).subspan(static_cast<std::size_t>(row), 1));
  in_place.flush();
  EXPECT_TRUE(std::ranges::equal(lean.parameters().values(), in_place.parameters().values()));
  const std::int32_t outside[] = {260};
  EXPECT_EQ(error_of<DataError>([&] { lean.accumulate_rows(outside, 0, true, taken, images, classes); }),
            "accumulate_rows: row 260 of 260 samples");
  const auto refused = [&](auto x, auto y, const std::string& why) {
    const std::vector<float> before(lean.parameters().values().begin(), lean.parameters().values().end());
    EXPECT_EQ(error_of<DataError>([&] { lean.accumulate_rows(rows, 0, true, taken, x, y); }), why);
    EXPECT_EQ(lean.position() + taken, 3);
    EXPECT_TRUE(std::ranges::equal(lean.parameters().values(), before));
  };
  auto label = classes;
  label[4] = 5;
  refused(images, label, "input 1, sample 4: label 5 is outside the 5 classes 0 to 4");
  auto image = images;
  image[9 * 3 + 8] = NAN;
  refused(image, classes, "input 0, sample 3: value 8 is NaN");
  label = classes;
  label[5] = -1;  // in none of the rows
  lean.accumulate_rows(rows, 0, true, taken, images, label);
  EXPECT_EQ(taken, 6);
  EXPECT_EQ(error_of<OptionError>([&] { in_place.accumulate_rows(rows, 0, true, taken, images, classes); }),
            "accumulate_rows: needs a session with .gather, and windows that are counted in samples");
}

TEST_F(Tails, AnEpochShorterThanAWindowStillSteps) {  // case 3
  Trainer trainer(MeanNet{}, Accumulate{Sgd{.learning_rate = 1.0f}}, {.global_batch = 64});
  trainer.fit(Dataset<float>::of(10, x), quiet(3));
  EXPECT_EQ(trainer.session().step_count(), 3);
  Trainer weighted(MeanNet{}, Accumulate{Sgd{.learning_rate = 1.0f}}, {.global_batch = 64, .window_weight = 3.0});
  const History history = weighted.fit(Dataset<float>::of(10, x), quiet(3));
  EXPECT_EQ(weighted.session().step_count(), 12);  // 3, 3, 3, 1 in each epoch
  EXPECT_EQ(history[1].training.count(), 10);
}

TEST_F(Tails, RatesFollowTheWindow) {
  const auto moved = [&](const auto& rule, std::size_t count) {
    Session session(MeanNet{}, Accumulate{rule}, {.global_batch = 64});
    session.accumulate(std::span(x).first(count));
    session.flush();
    return -session.parameters()["p"].values[0];
  };
  const Sgd rule{.learning_rate = 0.5f};
  EXPECT_EQ(moved(ScaleRate{rule, 4.0}, 8), 1.0f);
  EXPECT_EQ(moved(ScaleRate{rule, 4.0}, 4), 0.5f);
  EXPECT_EQ(moved(ScaleRate{rule, 4.0}, 1), 0.125f);
  EXPECT_EQ(moved(ScaleRate{rule, 4.0, RateScaling::square_root}, 1), 0.25f);
  EXPECT_EQ(moved(ScaleRate{rule, 4.0, RateScaling::square_root}, 8), 0.5f * std::sqrt(2.0f));
}

TEST(ScaleRate, KeepsTheBitsOfTheRuleAtTheReference) {
  auto scaled = Session(ClassifierNet{}, Accumulate{ScaleRate{Adam{}, 64.0}}, {.global_batch = 64, .seed = 7});
  auto plain = Session(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 64, .seed = 7});
  scaled.accumulate(numbers(512 * 9), labels(512, 5));
  plain.accumulate(numbers(512 * 9), labels(512, 5));
  EXPECT_EQ(scaled.step_count(), 8);
  EXPECT_EQ(differing_bits(scaled.parameter_bytes(), plain.parameter_bytes()), 0);
}

}  // namespace tails_test
