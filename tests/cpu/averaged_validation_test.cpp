// Validation at the average that an Ema keeps, by trainers of compiled and of eager nets.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../resume.hpp"

namespace averaged_validation_test {

using namespace resume;

struct AveragedValidation : testing::Test {
  static constexpr auto rule = Accumulate{ClipByGlobalNorm{Ema{Adam{.learning_rate = 0.05f}, 0.75}, 10.0}};
  const std::vector<float> x = numbers(100 * 9);
  const std::vector<std::int32_t> y = labels(100, 5);
  using Data = Dataset<float, std::int32_t>;
  const Data data{x, y}, unseen = data.subset(70, 30);

  /// Calls f(trainer) for a compiled and for an eager net.
  template <class F>
  static void of_both(const TrainerOptions& options, F f) {
    Trainer compiled(ClassifierNet{}, rule, options);
    f(compiled);
    Parameters parameters(Device::cpu());
    const Classifier model(parameters.root());
    const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> values, std::span<const std::int32_t> labels) {
      const Var in = tape.input(values, {9}), label = tape.input(labels);
      return model.loss(in, label);
    });
    Trainer eager(net, rule, options);
    f(eager);
  }
  static std::vector<float> learned(const auto& trainer) { return copied(trainer.parameters().values()); }
  static std::vector<float> averages(auto& trainer) {
    const auto kept = trainer.session().averaged_parameters();
    if constexpr (requires { kept.values(); }) return copied(kept.values());
    else return copied(kept);
  }
  static std::vector<float> copied(std::span<const float> values) { return {values.begin(), values.end()}; }
};

TEST_F(AveragedValidation, SeesTheAverageAndTouchesNoBitOfTheTraining) {
  for (const Tail tail : {Tail::step, Tail::carry})
    of_both({.global_batch = 32, .micro_batch = 16, .seed = 4, .tail = tail}, [&](auto& trainer) {
      trainer.fit(data, {.epochs = 3});
      Trainer judge(ClassifierNet{}, rule, {.global_batch = 32});
      judge.session().set_parameters(averages(trainer));
      const double expected = judge.evaluate(unseen).loss();
      const Checkpoint before = trainer.session().state();
      EXPECT_EQ(trainer.evaluate_averaged(unseen).loss(), expected);
      EXPECT_NE(trainer.evaluate(unseen).loss(), expected);
      EXPECT_TRUE(equal(trainer.session().state(), before));
    });
}

TEST_F(AveragedValidation, OfAFitChangesNothingButItsRecords) {
  const TrainerOptions options{.global_batch = 32, .micro_batch = 16, .seed = 4, .tail = Tail::carry};
  of_both(options, [&](auto& trainer) {
    std::vector<double> at_average, at_parameters;
    const History history =
        trainer.fit(data, {.epochs = 3, .validate = unseen, .validate_averaged = true, .on_epoch = [&](const EpochRecord&) {
                             at_average.push_back(trainer.evaluate_averaged(unseen).loss());
                             at_parameters.push_back(trainer.evaluate(unseen).loss());
                           }});
    for (std::size_t e = 0; e < 3; ++e) {
      EXPECT_EQ(history[e].validation.loss(), at_average[e]);
      EXPECT_NE(history[e].validation.loss(), at_parameters[e]);
    }
    Trainer plain(ClassifierNet{}, rule, options);
    plain.fit(data, {.epochs = 3});
    EXPECT_EQ(learned(trainer), learned(plain));
    EXPECT_EQ(averages(trainer), averages(plain));
  });
}

TEST_F(AveragedValidation, APatiencePutsTheBestAverageBack) {
  of_both({.global_batch = 50, .seed = 4}, [&](auto& trainer) {
    std::vector<float> best;
    const auto monitor = [](const EpochRecord& e) { return e.epoch == 1 ? 0.0 : 1.0; };
    const auto on_epoch = [&](const EpochRecord& e) {
      if (e.epoch == 1) best = averages(trainer);
    };
    trainer.fit(data, {.epochs = 9, .validate = unseen, .validate_averaged = true, .patience = 2, .monitor = monitor,
                       .on_epoch = on_epoch});
    EXPECT_EQ(learned(trainer), best);
    EXPECT_NE(averages(trainer), best) << "it goes on from the last step's";
  });
}

TEST_F(AveragedValidation, BeforeTheFirstStepSeesTheParameters) {
  of_both({.global_batch = 200, .seed = 4, .tail = Tail::carry}, [&](auto& trainer) {
    EXPECT_EQ(trainer.evaluate_averaged(unseen).loss(), trainer.evaluate(unseen).loss());
    trainer.fit(data, {.validate = unseen, .validate_averaged = true});  // half of a window
    EXPECT_EQ(trainer.session().step_count(), 0);
    EXPECT_EQ(trainer.evaluate_averaged(unseen).loss(), trainer.evaluate(unseen).loss());
  });
}

TEST_F(AveragedValidation, NeedsAnAverageAndData) {
  const std::string needed = "fit: .validate_averaged needs an Ema in the optimizer, and data to validate on";
  Trainer without(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 50});
  EXPECT_EQ(error_of<OptionError>([&] { without.fit(data, {.validate = unseen, .validate_averaged = true}); }), needed);
  of_both({.global_batch = 50}, [&](auto& trainer) {
    EXPECT_EQ(error_of<OptionError>([&] { trainer.fit(data, {.validate_averaged = true}); }), needed);
    EXPECT_EQ(trainer.epoch(), 0);
  });
}

}  // namespace averaged_validation_test
