// A fit that has ended within an epoch goes on with the rest of it, to the bits of one that did not end: whatever ended it, and
// wherever its window stood.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "../error_of.hpp"
#include "../fit.hpp"

namespace errors_within_epochs_test {

using namespace fit;

struct Ended : std::runtime_error {
  Ended() : runtime_error("ended") {}
};

struct ErrorsWithinEpochs : Fit {
  /// Calls `before(call)` before samples are made.
  template <class F>
  Data made(F before) {
    return Data::made(100, {9, 1}, [this, before, call = 0](auto rows, auto in, auto of) mutable {
      before(call++);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(x.begin() + 9 * rows[i], 9, in.begin() + static_cast<std::ptrdiff_t>(9 * i));
        of[i] = y[static_cast<std::size_t>(rows[i])];
      }
    });
  }
};

std::vector<float> learned_by(const auto& trained) {
  const auto values = trained.parameters().values();
  return {values.begin(), values.end()};
}
const auto by_epoch = [](const EpochRecord& e) { return e.epoch; };  // each is worse than the one before
constexpr auto sam = Accumulate{Sam{Adam{}}};

TEST_F(ErrorsWithinEpochs, ARateRefusedForTheLastWindowIsWaitedFor) {
  static double rate = 0.01;
  const auto adam = Accumulate{Adam{.learning_rate = schedule::variable(rate)}};
  Trainer whole(ClassifierNet{}, adam, options), broken(ClassifierNet{}, adam, options);
  whole.fit(data, {.epochs = 2});
  EXPECT_THROW(broken.fit(data, {.epochs = 2, .on_step = [](std::int64_t step, const Averages&) {
                            if (step == 3) rate = std::numeric_limits<double>::quiet_NaN();
                          }}),
               OptionError);
  rate = 0.01;
  EXPECT_TRUE(broken.session().waits_for_step()) << "with the 4 samples that a window of 32 is not full of";
  EXPECT_EQ(broken.fit(data, {.epochs = 2}).size(), 2u);
  EXPECT_EQ(learned_by(broken), learned_by(whole));
}

/// Its loss is infinite where a weight is 9, and weights are computed, so that no data are refused.
struct Weighed : Classifier {
  using Classifier::Classifier;
  constexpr Loss loss(Var in, Var label, Var weight) const {
    return Loss(cross_entropy(predict(in), label) + where(weight > 8.0, exp(99.0 * weight), 0.0)).weighted_by(2.0 * weight);
  }
};
using WeighedNet = Compiled<Weighed, Inputs<f32[9], i32, f32>>;

/// Returns weights of 1, except for the sample that is the `place`th of the first epoch.
std::vector<float> weights_with(std::size_t place, float other, std::vector<float> weights = std::vector<float>(100, 1.0f)) {
  std::vector<std::int32_t> order(100);
  shuffle(order, 4, 0);
  weights[static_cast<std::size_t>(order[place])] = other;
  return weights;
}

TEST_F(ErrorsWithinEpochs, WhatIsDroppedIsNotGivenAgain) {
  const std::vector<float> weights = weights_with(3, 9);
  bool fails = false;
  int calls = 0;
  const auto all = Dataset<float, std::int32_t, float>::made(100, {9, 1, 1}, [&](auto rows, auto in, auto of, auto weight) {
    if (fails && ++calls == 2) throw Ended();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      std::copy_n(x.begin() + 9 * rows[i], 9, in.begin() + static_cast<std::ptrdiff_t>(9 * i));
      of[i] = y[row], weight[i] = weights[row];
    }
  });
  TrainerOptions dropping = options;
  dropping.non_finite = NonFinite::drop_micro_batch;
  dropping.noise_batch = 8;  // so that each call of the session has two parts
  Trainer whole(WeighedNet{}, optimizer, dropping), broken(WeighedNet{}, optimizer, dropping);
  whole.fit(all);
  fails = true;
  EXPECT_THROW(broken.fit(all), Ended);
  EXPECT_EQ(broken.session().dropped_micro_batches(), 1);
  EXPECT_EQ(broken.fit(all).at(0).training.count(), 92);
  EXPECT_EQ(broken.session().dropped_micro_batches(), 1);
  EXPECT_EQ(learned_by(broken), learned_by(whole));
}

TEST_F(ErrorsWithinEpochs, AWindowThatAnErrorEndsBeginsAgainWithWhatWasDropped) {
  std::vector<float> weights = weights_with(28, -1, weights_with(3, 9));
  const Dataset all(x, y, weights);
  TrainerOptions dropping = options;
  dropping.non_finite = NonFinite::drop_micro_batch;
  Trainer whole(WeighedNet{}, optimizer, dropping), broken(WeighedNet{}, optimizer, dropping);
  EXPECT_EQ(error_of<DataError>([&] { broken.fit(all); }).substr(0, 31), "weight 12 of a window is -2: a ");
  std::ranges::transform(weights, weights.begin(), [](float w) { return w < 0 ? 1.0f : w; });
  whole.fit(all);
  broken.fit(all);
  EXPECT_EQ(learned_by(broken), learned_by(whole));
}

TEST_F(ErrorsWithinEpochs, PatienceGoesOnAfterAnErrorInTheFirstMicroBatch) {
  const FitOptions<Data> patient{.epochs = 9, .patience = 3, .monitor = by_epoch};
  EXPECT_EQ(trainer.fit(data, patient).size(), 4u);
  for (const int in_epoch : {0, 1}) {
    Classifiers broken(ClassifierNet{}, optimizer, options);
    const Data fails = made([in_epoch](int call) {
      if (call == 2 * 7 + in_epoch) throw Ended();  // 7 micro-batches an epoch
    });
    EXPECT_THROW(broken.fit(fails, patient), Ended);
    EXPECT_EQ(broken.fit(fails, patient).size(), 2u) << in_epoch;
    EXPECT_EQ(learned_by(broken), learned()) << in_epoch;
  }
}

TEST_F(ErrorsWithinEpochs, AnEpochHasBegunWhereItsFirstWindowMustBeGivenAgain) {
  const FitOptions<Data> patient{.epochs = 9, .patience = 3, .monitor = by_epoch};
  Trainer whole(ClassifierNet{}, sam, options);
  whole.fit(data, patient);
  const auto begun = [&](bool stops) {
    Trainer broken(ClassifierNet{}, sam, options);
    FitOptions<Data> ending = patient;
    int given = 0;
    ending.on_micro_batch = [&](std::int64_t) {
      if (broken.epoch() != 2 || ++given != 2) return;
      if (!stops) throw Ended();
      broken.stop();
    };
    if (stops) broken.fit(data, ending);
    else EXPECT_THROW(broken.fit(data, ending), Ended);
    EXPECT_TRUE(broken.session().again());
    return broken;
  };
  for (const bool stops : {false, true}) {
    auto broken = begun(stops);
    broken.save_state(file);
    Trainer resumed(ClassifierNet{}, sam, options);
    resumed.load_state(file);
    for (auto* trained : {&broken, &resumed}) {
      EXPECT_EQ(error_of<DataError>([&] { trained->fit(data.subset(0, 64), patient); }),
                "fit: epoch 3 has begun on 100 samples, but now there are 64: discard_epoch() skips the rest of it");
      EXPECT_EQ(trained->fit(data, patient).size(), 2u);
      EXPECT_EQ(learned_by(*trained), learned_by(whole));
    }
    auto left = begun(stops);
    left.discard_epoch();
    EXPECT_EQ(left.epoch(), 3);
  }
}

TEST_F(ErrorsWithinEpochs, ARateRefusedBetweenTheEvaluationsOfAWindowIsWaitedFor) {
  static double rate = 0.01;
  const auto twice = Accumulate{Sam{Adam{.learning_rate = schedule::variable(rate)}}};
  Trainer whole(ClassifierNet{}, twice, options);
  whole.fit(data, {.epochs = 2});
  const auto expect_same = [&](auto& broken) {
    for (const int refused : {1, 2, 3}) {  // in the first evaluation, in the second, in the next window's second
      int given = 0;
      EXPECT_THROW(broken.fit(data, {.epochs = 1, .on_micro_batch = [&](std::int64_t) {
                                if (++given == refused) rate = std::numeric_limits<double>::quiet_NaN();
                              }}),
                   OptionError);
      EXPECT_TRUE(broken.session().waits_for_step());
      rate = 0.01;
    }
    while (broken.epoch() < 2) broken.fit(data, {.epochs = 1});
    EXPECT_EQ(learned_by(broken), learned_by(whole));
  };
  Trainer broken(ClassifierNet{}, twice, options);
  expect_same(broken);
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  EagerNet eager(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
    const Var features = tape.input(in, {9});
    return net.loss(features, tape.input(label));
  });
  Trainer eagerly(eager, twice, options);
  expect_same(eagerly);
}

TEST_F(ErrorsWithinEpochs, AWindowThatPatienceForgetsIsLearnedByTheNextFit) {
  int given = 0;
  trainer.fit(data, {.epochs = 9, .patience = 9, .monitor = by_epoch, .on_micro_batch = [&](std::int64_t) {
                       if (++given == 2 * 7 + 3) trainer.stop();
                     }});
  EXPECT_EQ(trainer.session().position(), 16);
  EXPECT_TRUE(trainer.fit(data, {.epochs = 9, .patience = 1, .monitor = by_epoch}).empty());
  EXPECT_EQ(trainer.session().position(), 0);
  EXPECT_EQ(trainer.fit(data, {.epochs = 1}).at(0).training.count(), 100);
}

}  // namespace errors_within_epochs_test
