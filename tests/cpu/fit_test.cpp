// How a fit ends: by its epochs, by stop() or by an error, and what the next one begins with.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <ranges>
#include <semaphore>
#include <sstream>
#include <thread>

#include "../error_of.hpp"
#include "../fit.hpp"

namespace fit_test {

using namespace fit;

TEST_F(Fit, StopsAtAnyMicroBatchAndGoesOnToTheSameBits) {
  Classifiers whole(ClassifierNet{}, optimizer, options);
  const History expected = whole.fit(data, {.epochs = 2});
  whole.save_state(file);
  const Checkpoint end = load(file);
  for (int last = 1; last <= 14; ++last) {
    Classifiers stopped(ClassifierNet{}, optimizer, options);
    int seen = 0;
    const History first = stopped.fit(data, {.epochs = 2, .on_micro_batch = [&](std::int64_t) {
                                               if (++seen == last) stopped.stop();
                                             }});
    EXPECT_EQ(seen, last);
    EXPECT_EQ(static_cast<int>(first.size()), last / 7) << "only whole epochs are recorded";
    const History rest = stopped.fit(data, {.epochs = 2 - stopped.epoch()});
    EXPECT_EQ(first.size() + rest.size(), 2u);
    stopped.save_state(file);
    EXPECT_TRUE(equal(end, load(file))) << "stopped after micro-batch " << last;
    EXPECT_EQ((rest.empty() ? first : rest).back().training.loss(), expected.back().training.loss());
  }
}

/// Returns weights by which only the first 50 samples are drawn, every third of them more often.
std::vector<double> some_weights() {
  std::vector<double> weights(100);
  for (std::size_t i = 0; i < 50; ++i) weights[i] = i % 3 == 0 ? 1 : 0.125;
  return weights;
}

TEST_F(Fit, LearnsWhatItsWeightsDraw) {
  Session session(ClassifierNet{}, optimizer, {.global_batch = 32, .micro_batch = 32, .gather = true, .seed = 4});
  const WeightedDraw draw(some_weights());
  std::vector<std::int32_t> order(100);
  for (const std::uint64_t epoch : {0, 1}) {
    draw(order, 4, epoch);
    for (std::int64_t done = 0; done < 100;)
      session.accumulate_rows(std::span(order).subspan(static_cast<std::size_t>(done)), epoch, true, done, x, y);
  }
  const auto parameters = session.parameters().values();
  const std::vector<float> expected(parameters.begin(), parameters.end());
  for (const std::int64_t micro_batch : {1, 5, 32}) {
    Classifiers other(ClassifierNet{}, optimizer, {.global_batch = 32, .micro_batch = micro_batch, .seed = 4});
    other.fit(data, {.epochs = 2, .draw = some_weights()});
    const auto values = other.parameters().values();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), expected) << micro_batch;
  }
  trainer.fit(data, {.epochs = 2});
  EXPECT_NE(learned(), expected);
}

TEST_F(Fit, GoesOnWithWhatItDrewInAnEpochAndMayDrawOtherwiseInTheNext) {
  Classifiers whole(ClassifierNet{}, optimizer, options);
  whole.fit(data, {.draw = some_weights()});
  whole.fit(data, {.epochs = 2});
  whole.save_state(file);
  const Checkpoint end = load(file);
  int seen = 0;
  trainer.fit(data, {.draw = some_weights(), .on_micro_batch = [&](std::int64_t) {
                       if (++seen == 3) trainer.save_state(file), trainer.stop();
                     }});
  Classifiers resumed(ClassifierNet{}, optimizer, {.global_batch = 32, .micro_batch = 7});
  resumed.load_state(file);
  for (Classifiers* stopped : {&trainer, &resumed}) {
    EXPECT_EQ(error_of<DataError>([&] { stopped->fit(data); }),
              "fit: epoch 1 has begun with another .draw: discard_epoch() skips the rest of it");
    auto weights = some_weights();
    weights.back() = 1e-3;
    EXPECT_EQ(error_of<DataError>([&] { stopped->fit(data, {.draw = weights}); }),
              "fit: epoch 1 has begun with another .draw: discard_epoch() skips the rest of it");
    EXPECT_EQ(stopped->session().position(), 16) << "nothing is changed";
    stopped->fit(data, {.draw = some_weights()});
    stopped->fit(data, {.epochs = 2});
    stopped->save_state(file + ".end");
    EXPECT_TRUE(equal(end, load(file + ".end")));
  }
  std::filesystem::remove(file + ".end");
}

TEST_F(Fit, RefusesAStateWhoseEpochDrawsOtherwise) {
  trainer.fit(data, {.on_step = [&](auto&&...) { trainer.save_state(file), trainer.stop(); }});
  Classifiers drawing(ClassifierNet{}, optimizer, options);
  std::string why;
  const auto reload = [&](const EpochRecord&) { why = error_of<DataError>([&] { drawing.load_state(file); }); };
  drawing.fit(data, {.draw = some_weights(), .on_epoch = reload});
  EXPECT_EQ(why, "fit: epoch 1 has begun with no .draw: discard_epoch() skips the rest of it");
  drawing.fit(data, {.on_epoch = reload});
  EXPECT_EQ(why, "accepted");
}

/// The schedule is not evaluated for the window after the last.
TEST_F(Fit, EndsWithTheWindowsThatItsScheduleHas) {
  const Scalar length = schedule::function([](std::int64_t step) { return step < 2 ? 50.0 : NAN; });
  Classifiers two(ClassifierNet{}, optimizer, {.global_batch = 64, .micro_batch = 16, .window_samples = length});
  std::int64_t steps = 0;
  const History history = two.fit(data, {.on_step = [&](std::int64_t step, const Averages&) { steps = step; }});
  EXPECT_EQ(history.size(), 1u);
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(error_of<OptionError>([&] { two.fit(data); }), "step 3: a window of nan samples");
}

struct LessOne {  // weights that are computed are known only within a window
  nn::Linear value;
  constexpr explicit LessOne(Scope s) : value(s / "value", 1, 1) {}
  constexpr Loss loss(Var x, Var weight) const { return Loss(square(select(value(x), 1, 0))).weighted_by(weight - 1.0); }
};

TEST(Fits, SayWhichWeightsNoMeanHas) {
  const std::vector<float> in(20 * 4), target(20 * 3);
  std::vector<float> weight(20, 1.0f);
  const Dataset data(in, target, weight);
  Trainer trainer(WeightedNet{}, Accumulate{Sgd{}}, {.global_batch = 8});
  Trainer sums(WeightedNet{}, Accumulate{Sgd{}}, {.global_batch = 8, .reduction = Reduction::sum});
  weight[13] = -0.5f;
  const std::string why =
      "input 2, sample 13: weight 0 is -0.5: a mean takes none below 0; multiply the loss by such factors, or use "
      "Reduction::sum";
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(data); }), why);
  EXPECT_EQ(error_of<DataError>([&] { trainer.evaluate(data); }), why);
  EXPECT_EQ(trainer.session().step_count(), 0) << "before anything is learned";
  sums.fit(data);
  EXPECT_EQ(sums.session().step_count(), 3);
}

TEST(Fits, LearnAWindowThatWasRefusedOnceItIsRepaired) {
  using Net = Compiled<LessOne, Inputs<f32[1], f32>>;
  const std::vector<float> x(100, 1.0f);
  std::vector<float> weights(100, 2.0f);
  const Dataset data(x, weights);
  const auto expect_all_learned = [&](auto optimizer) {
    const TrainerOptions options{.global_batch = 32, .micro_batch = 10};
    Trainer whole(Net{}, optimizer, options), repaired(Net{}, optimizer, options);
    whole.fit(data);
    weights[50] = 0;
    EXPECT_THROW(repaired.fit(data), DataError);
    weights[50] = 2;
    const History history = repaired.fit(data);
    EXPECT_EQ(history.at(0).steps, 4);
    EXPECT_EQ(history.at(0).training.count(), 100);
    EXPECT_EQ(differing_bits(whole.session().parameter_bytes(), repaired.session().parameter_bytes()), 0);
  };
  expect_all_learned(Accumulate{Sgd{.learning_rate = 0.01f}});
  expect_all_learned(Accumulate{Sam{Sgd{.learning_rate = 0.01f}}});
  Trainer carrying(Net{}, Accumulate{Sgd{}}, {.global_batch = 128, .micro_batch = 10, .tail = Tail::carry});
  carrying.fit(data);
  weights.assign(100, 0.0f);
  EXPECT_THROW(carrying.fit(data), DataError);
  weights.assign(100, 2.0f);
  carrying.fit(data);
  EXPECT_EQ(carrying.session().position(), 100) << "all of this epoch, and nothing of the window that was refused";
}

TEST_F(Fit, WithinAStepsCallbackOrBeforeIt) {
  trainer.stop();  // without a fit
  const History none = trainer.fit(data, {.on_step = [&](std::int64_t step, const Averages&) {
                                     if (step == 2) trainer.stop();
                                   }});
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(trainer.session().step_count(), 2);
  EXPECT_EQ(trainer.fit(data).size(), 1u);
  EXPECT_EQ(trainer.session().step_count(), 4);
}

TEST_F(Fit, StopsByAnotherThreadOrASignal) {
  std::binary_semaphore begun{0};
  std::thread button([&] { begun.acquire(), trainer.stop(); });
  const History history = trainer.fit(data, {.epochs = 1'000'000, .on_step = [&](std::int64_t step, const Averages&) {
                                               if (step == 1) begun.release();
                                             }});
  button.join();
  EXPECT_LT(history.size(), 1'000'000u);

  static Classifiers* interrupted;
  interrupted = &trainer;
  const auto before = std::signal(SIGUSR1, [](int) { interrupted->stop(); });
  trainer.fit(data, {.epochs = 1'000'000, .on_step = [&](std::int64_t, const Averages&) { std::raise(SIGUSR1); }});
  std::signal(SIGUSR1, before);
}

TEST_F(Fit, CountsAnyNumberOfEpochs) {
  trainer.fit(data);
  testing::internal::CaptureStderr();
  trainer.fit(data, {.epochs = std::numeric_limits<int>::max(), .progress = Progress::always,
                     .on_epoch = [&](const EpochRecord&) { trainer.stop(); }});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.starts_with("epoch 2/2147483648  loss")) << said;
}

TEST_F(Fit, BeginsAnEpochOfOtherDataAfterOneThatIsDiscarded) {
  const auto ended = [&](int micro_batches) {
    Classifiers stopped(ClassifierNet{}, optimizer, options);
    int seen = 0;
    std::string inside;
    stopped.fit(data, {.epochs = 9, .patience = 2, .monitor = [](const EpochRecord& e) { return e.epoch; },
                       .on_micro_batch = [&](std::int64_t) {
                         inside = error_of<OptionError>([&] { stopped.discard_epoch(); });
                         if (++seen == 7 + micro_batches) stopped.stop();
                       }});
    EXPECT_EQ(inside, "discard_epoch: this trainer is inside a fit");
    EXPECT_EQ(stopped.session().position(), micro_batches == 3 ? 16 : 0);
    EXPECT_EQ(error_of<DataError>([&] { stopped.fit(data.subset(0, 50)); }),
              "fit: epoch 2 has begun on 100 samples, but now there are 50: discard_epoch() skips the rest of it");
    stopped.discard_epoch();
    EXPECT_EQ(stopped.session().position(), 0);
    EXPECT_EQ(stopped.epoch(), 2);
    stopped.discard_epoch();
    EXPECT_EQ(stopped.epoch(), 2) << "none had begun";
    const auto worse = [](const EpochRecord& e) { return 10 - e.epoch; };
    const History next = stopped.fit(data.subset(0, 50), {.epochs = 2, .patience = 1, .monitor = worse});
    EXPECT_EQ(next.size(), 2u) << "patience has begun anew";
    EXPECT_EQ(next.at(0).training.count(), 50);
    stopped.save_state(file);
    return load(file);
  };
  EXPECT_TRUE(equal(ended(2), ended(3))) << "the window that had begun is forgotten";
}

TEST_F(Fit, FindsMetricsByName) {
  const Averages seen = trainer.evaluate(data);
  EXPECT_EQ(seen.metric(trainer.metric("accuracy")), seen.metric(ClassifierNet::metric("accuracy")));
  EXPECT_EQ(error_of<OptionError>([&] { trainer.session().metric("acuracy"); }),
            "no metric is named 'acuracy'; there are 'accuracy'");
  ASSERT_EQ(trainer.metric_names().size(), 1u);
  std::ostringstream name;
  name << trainer.metric_names()[0];
  EXPECT_EQ(name.str(), "accuracy");
}

TEST_F(Fit, ParametersAreGoneThroughInTheirOrder) {
  std::size_t count = 0;
  int position = 0;
  for (auto [name, shape, values] : trainer.parameters()) {
    EXPECT_EQ(name, ClassifierNet::parameter(position++).name.view());
    EXPECT_EQ(static_cast<std::int64_t>(values.size()), shape.unit());
    EXPECT_EQ(values.data(), trainer.parameters()[name].values.data());
    count += values.size();
  }
  EXPECT_EQ(count, trainer.parameters().values().size());
  Parameters parameters(Device::cpu());
  const Classifier model(parameters.root());
  parameters.initialize(1);
  position = 0;
  for (auto [name, shape, values] : parameters) EXPECT_EQ(values.data(), parameters[position++].values.data());
  EXPECT_EQ(position, parameters.size());
  static_assert(std::ranges::forward_range<decltype(trainer.parameters())> && std::ranges::forward_range<Parameters>);
  const auto is_last = [](const auto& parameter) { return parameter.name == "output/bias"; };
  EXPECT_EQ((*std::ranges::find_if(parameters, is_last)).values.data(), parameters["output/bias"].values.data());
  EXPECT_EQ(std::ranges::distance(trainer.parameters() | std::views::filter(is_last)), 1);
}

TEST_F(Fit, SaysWhatIsWrongWithValidationData) {
  auto wrong = y;
  wrong[3] = 7;
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(data, {.validate = Data(x, wrong)}); }),
            "validation data: input 1, sample 3: label 7 is outside the 5 classes 0 to 4");
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(Data(x, wrong), {.validate = data}); }),
            "input 1, sample 3: label 7 is outside the 5 classes 0 to 4");
}

TEST_F(Fit, MayChangeItsDataButNotToLabelsThatThereAreNot) {
  std::vector<std::int32_t> changing = y;
  const Data changed(x, changing);
  const auto change_to = [&](std::int32_t label) {
    return [&, label](const EpochRecord&) { changing[7] = label; };
  };
  for (const std::int32_t label : {5, -3, 100'000'000}) {
    changing = y;
    EXPECT_EQ(error_of<DataError>([&] { trainer.fit(changed, {.epochs = 3, .on_epoch = change_to(label)}); }),
              "input 1, sample 7: label " + std::to_string(label) + " is outside the 5 classes 0 to 4");
    trainer.session().discard();
  }
  changing = y;
  Classifiers whole(ClassifierNet{}, optimizer, options), parts(ClassifierNet{}, optimizer, options);
  whole.fit(changed, {.epochs = 3, .on_epoch = change_to(2)});
  changing = y;
  parts.fit(changed);
  changing[7] = 2;
  parts.fit(changed, {.epochs = 2});
  EXPECT_EQ(differing_bits(whole.session().parameter_bytes(), parts.session().parameter_bytes()), 0);
}

}  // namespace fit_test
