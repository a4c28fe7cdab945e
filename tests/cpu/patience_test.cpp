// A fit with patience: what it watches, when it ends, and which parameters it puts back.
#include <gtest/gtest.h>

#include <cmath>

#include "../error_of.hpp"
#include "../fit.hpp"

namespace patience_test {

using namespace fit;

struct Patience : Fit {};

TEST_F(Patience, StopsAfterAnEpochWithTheBestParameters) {
  std::vector<float> best;
  const auto monitor = [](const EpochRecord& e) { return std::abs(e.epoch - 1); };  // the second epoch is the best
  const auto on_epoch = [&](const EpochRecord& e) {
    if (e.epoch == 1) best = learned();
    if (e.epoch == 2) trainer.stop();
  };
  testing::internal::CaptureStderr();
  const History history = trainer.fit(
      data, {.epochs = 9, .patience = 9, .monitor = monitor, .progress = Progress::always, .on_epoch = on_epoch});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.ends_with("left\nepoch 2 was the best: its parameters are restored\n")) << said;
  ASSERT_EQ(history.size(), 3u);
  EXPECT_TRUE(history[0].improved && history[1].improved && !history[2].improved);
  EXPECT_EQ(trainer.epoch(), 3);
  EXPECT_EQ(learned(), best);
}

TEST_F(Patience, EndsWithAnErrorWherePatienceEndsByWhatIsNoNumber) {
  const auto late = [](const EpochRecord& e) { return e.epoch < 2 ? std::nan("") : -e.epoch; };  // as for 0 of 0 guesses
  EXPECT_EQ(trainer.fit(data, {.epochs = 5, .patience = 3, .monitor = late}).size(), 5u);
  const auto never = [](const EpochRecord&) { return std::nan(""); };
  EXPECT_EQ(error_of<NonFiniteError>([&] { trainer.fit(data, {.epochs = 9, .patience = 3, .monitor = never}); }),
            "fit: patience ends after epoch 8: the monitor is not a number");
  const auto infinite = [](const EpochRecord& e) { return e.epoch == 8 ? std::nan("") : double{INFINITY}; };
  EXPECT_EQ(error_of<NonFiniteError>([&] { trainer.fit(data, {.epochs = 9, .patience = 3, .monitor = infinite}); }),
            "fit: patience ends after epoch 11: the monitor is infinite, and was never finite before");
  const auto at_first = [](const EpochRecord& e) { return e.epoch == 11 ? 0 : double{INFINITY}; };
  EXPECT_EQ(trainer.fit(data, {.epochs = 9, .patience = 3, .monitor = at_first}).size(), 4u);
  const auto then_none = [](const EpochRecord& e) { return e.epoch == 15 ? 0 : std::nan(""); };
  EXPECT_EQ(error_of<NonFiniteError>([&] { trainer.fit(data, {.epochs = 9, .patience = 3, .monitor = then_none}); }),
            "fit: patience ends after epoch 19: the monitor is not a number");
}

/// As when a hyperparameter search prunes a trial.
TEST_F(Patience, ForgetsWhatPatienceHasSeenWhereAnExceptionEndsItBetweenEpochs) {
  struct Pruned {};
  const auto better = [](const EpochRecord& e) { return -e.epoch; };
  const auto pruned = [&](const Classifiers::Options& by) { EXPECT_THROW(trainer.fit(data, by), Pruned); };
  pruned({.epochs = 9, .patience = 2, .monitor = better, .on_epoch = [](const EpochRecord& e) {
            if (e.epoch == 3) throw Pruned();
          }});
  const auto worse = [](const EpochRecord& e) { return 100 + e.epoch; };
  std::vector<float> best;
  const auto keep = [&](const EpochRecord& e) {
    if (e.epoch == 4) best = learned();
  };
  EXPECT_EQ(trainer.fit(data, {.epochs = 9, .patience = 2, .monitor = worse, .on_epoch = keep}).size(), 3u);
  EXPECT_EQ(learned(), best);
  pruned({.epochs = 9, .patience = 2, .monitor = better, .on_step = [&](std::int64_t, const Averages&) {
            if (trainer.epoch() == 9) throw Pruned();
          }});
  EXPECT_EQ(trainer.fit(data, {.epochs = 9, .patience = 2, .monitor = worse}).size(), 2u)
      << "the rest of an epoch is gone on with, and patience with it";
}

TEST_F(Patience, ForgetsWhatIsCarriedOverWherePatiencePutsTheBestBack) {
  Classifiers carrying(ClassifierNet{}, optimizer, {.global_batch = 32, .micro_batch = 16, .seed = 4, .tail = Tail::carry});
  const auto worse = [](const EpochRecord& e) { return e.epoch; };
  EXPECT_EQ(carrying.fit(data, {.epochs = 9, .patience = 2, .monitor = worse}).size(), 3u);
  EXPECT_EQ(carrying.session().position(), 0) << "of 300 samples, 12 were in the next window";
}

TEST_F(Patience, WithoutPatiencePutsNothingBackThatAnEarlierOneHasSeen) {
  trainer.fit(data, {.epochs = 9, .patience = 9, .monitor = [](const EpochRecord& e) { return e.epoch; },
                     .on_step = [&](std::int64_t step, const Averages&) {
                       if (trainer.epoch() == 2 && step > 0) trainer.stop();
                     }});
  std::vector<float> before = learned();
  trainer.fit(data, {.epochs = 2, .on_epoch = [&](const EpochRecord&) { before = learned(); }});
  EXPECT_EQ(learned(), before);
}

TEST_F(Patience, WatchesWhatItIsTold) {
  std::vector<std::vector<float>> after;
  const auto keep = [&](const EpochRecord&) { after.push_back(learned()); };
  const double worth[] = {5, 4, 3.9, 3.7, 3.6, 1};  // by epoch: less is better
  const auto monitor = [&](const EpochRecord& e) { return worth[e.epoch]; };
  const auto epochs_of = [&](double min_delta) {
    trainer = Classifiers(ClassifierNet{}, optimizer, options);
    after.clear();
    return trainer.fit(data, {.epochs = 6, .patience = 2, .min_delta = min_delta, .monitor = monitor, .on_epoch = keep}).size();
  };
  EXPECT_EQ(epochs_of(0), 6u);
  EXPECT_EQ(learned(), after[5]);
  EXPECT_EQ(epochs_of(0.25), 6u) << "4, 3.7, 1";
  EXPECT_EQ(epochs_of(0.5), 4u) << "neither 3.9 nor 3.7";
  EXPECT_EQ(learned(), after[1]);
  for (const auto& [bad, text] : {std::pair(-1.0, "-1"), {-1e-9, "-1e-09"}, {double{NAN}, "nan"}})
    EXPECT_EQ(error_of<OptionError>([&] { trainer.fit(data, {.min_delta = bad}); }),
              std::string("fit: a min_delta of ") + text);
}

}  // namespace patience_test
