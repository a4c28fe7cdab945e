// A trainer of an eager net ends in the bits of a compiled one's, and can be stopped, saved and queried like it.
#include <gtest/gtest.h>

#include <limits>

#include "../error_of.hpp"
#include "../resume.hpp"

namespace eager_trainer_test {

using namespace resume;

/// Drops by epoch and place in the data set; one class in five has weight 0.
struct Model : Dropped {
  using Dropped::Dropped;
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = predict(x);
    return Loss(cross_entropy(scores, label), metric("accuracy", argmax(scores) == label))
        .weighted_by(where(label == 4, 0.0, 1.5));
  }
};
using CompiledModel = Compiled<Model, Inputs<f32[9], i32>>;
using Data = Dataset<float, std::int32_t>;

struct EagerTrainer : Resume {
  const std::vector<float> x = numbers(150 * 9);
  const std::vector<std::int32_t> y = labels(150, 5);
  const Data all{x, y}, data = all.subset(0, 100), unseen = all.subset(100, 50);

  /// Returns the result of `train` for a new trainer of an eager net.
  template <class F>
  auto eagerly(const TrainerOptions& options, F train, const Device& device = Device::cpu()) const {
    Parameters parameters(device);
    const Model model(parameters.root());
    const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
      const Var values = tape.input(in, {9}), of = tape.input(label);
      return model.loss(values, of);
    });
    Trainer trainer(net, optimizer, options);
    return train(trainer);
  }
  template <class F>
  auto compiled(const TrainerOptions& options, F train) const {
    Trainer trainer(CompiledModel{}, optimizer, options);
    return train(trainer);
  }
};

std::vector<float> learned(const auto& trainer) {
  const auto values = trainer.parameters().values();
  return {values.begin(), values.end()};
}

void expect_equal(const Averages& a, const Averages& b) {
  EXPECT_EQ(differing_bits(std::as_bytes(a.sums()), std::as_bytes(b.sums())), 0);
  EXPECT_EQ(a.weight(), b.weight());
  EXPECT_EQ(a.count(), b.count());
}

TEST_F(EagerTrainer, EndsInTheBitsOfTheCompiledOne) {
  for (const Tail tail : {Tail::step, Tail::carry, Tail::drop})
    for (const std::int64_t micro_batch : {32, 7}) {
      const TrainerOptions options{.global_batch = 32, .micro_batch = micro_batch, .seed = 4, .tail = tail};
      const auto train = [&](auto& trainer) {
        const History history = trainer.fit(data, {.epochs = 3, .validate = unseen});
        return std::tuple(learned(trainer), history, trainer.evaluate(all));
      };
      const auto [expected, records, expected_all] = compiled(options, train);
      const auto [got, history, got_all] = eagerly(options, train);
      EXPECT_EQ(differing_bits(std::as_bytes(std::span(expected)), std::as_bytes(std::span(got))), 0);
      ASSERT_EQ(records.size(), history.size());
      for (std::size_t e = 0; e < records.size(); ++e) {
        expect_equal(records[e].training, history[e].training);
        expect_equal(records[e].validation, history[e].validation);
        EXPECT_EQ(records[e].steps, history[e].steps);
      }
      expect_equal(expected_all, got_all);
    }
}

TEST_F(EagerTrainer, DrawsWhatTheCompiledOneDraws) {
  std::vector<double> weights(static_cast<std::size_t>(data.size()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 4);
  const TrainerOptions options{.global_batch = 32, .micro_batch = 7, .seed = 4};
  const auto train = [&](auto& trainer) {
    trainer.fit(data, {.epochs = 2, .draw = weights});
    return learned(trainer);
  };
  EXPECT_EQ(eagerly(options, train), compiled(options, train));
}

TEST_F(EagerTrainer, TakesSmallerPartsWhereMemoryIsShort) {
  const auto train = [&](auto& trainer) {
    trainer.fit(data, {.epochs = 2});
    return std::pair(learned(trainer), trainer.parameters().device().reserved_bytes());
  };
  const TrainerOptions options{.global_batch = 32, .seed = 4};
  const auto [expected, needed] = eagerly(options, train);
  const auto [got, reserved] = eagerly(options, train, Device::cpu(needed * 3 / 4));
  EXPECT_EQ(got, expected);
  EXPECT_LE(reserved, needed * 3 / 4);
}

TEST_F(EagerTrainer, GoesOnFromAStateToTheSameBits) {
  const TrainerOptions options{.global_batch = 32, .micro_batch = 7, .seed = 4};
  const std::vector<float> whole = eagerly(options, [&](auto& trainer) {
    trainer.fit(data, {.epochs = 3});
    return learned(trainer);
  });
  for (const int last : {1, 5, 15, 16, 31}) {  // of 15 or 16 micro-batches an epoch
    eagerly(options, [&](auto& trainer) {
      int seen = 0;
      return trainer.fit(data, {.epochs = 3, .on_micro_batch = [&](std::int64_t) {
                                  if (++seen == last) trainer.save_state(file), trainer.stop();
                                }});
    });
    const std::vector<float> resumed = eagerly(options, [&](auto& trainer) {
      trainer.load_state(file);
      trainer.fit(data, {.epochs = 3 - trainer.epoch()});
      return learned(trainer);
    });
    EXPECT_EQ(resumed, whole) << "after micro-batch " << last;
  }
}

TEST_F(EagerTrainer, BeginsAnEpochOfOtherDataAfterOneThatIsDiscarded) {
  eagerly({.global_batch = 32, .micro_batch = 7}, [&](auto& trainer) {
    trainer.fit(data, {.on_micro_batch = [&](std::int64_t) { trainer.stop(); }});
    EXPECT_EQ(trainer.session().position(), 7);
    trainer.discard_epoch();
    EXPECT_EQ(trainer.session().position(), 0);
    EXPECT_EQ(trainer.fit(unseen).size(), 1u);
    return trainer.epoch();
  });
}

TEST_F(EagerTrainer, PutsTheBestParametersBack) {
  std::vector<float> best;
  const std::vector<float> end = eagerly({.global_batch = 50}, [&](auto& trainer) {
    const auto monitor = [](const EpochRecord& e) { return e.epoch == 1 ? 0.0 : 1.0; };
    const auto on_epoch = [&](const EpochRecord& e) {
      if (e.epoch == 1) best = learned(trainer);
    };
    EXPECT_EQ(trainer.fit(data, {.epochs = 9, .patience = 2, .monitor = monitor, .on_epoch = on_epoch}).size(), 4u);
    return learned(trainer);
  });
  EXPECT_EQ(end, best);
}

TEST_F(EagerTrainer, ReadsAndWritesTheFilesOfTheCompiledOne) {
  const TrainerOptions options{.global_batch = 50};
  const std::vector<float> expected = compiled(options, [&](auto& trainer) {
    trainer.fit(data, {.epochs = 1});
    trainer.save(file);
    return learned(trainer);
  });
  const std::vector<float> got = eagerly(options, [&](auto& trainer) {
    trainer.load(file);
    trainer.save(file);
    return learned(trainer);
  });
  EXPECT_EQ(got, expected);
  EXPECT_EQ(compiled(options, [&](auto& trainer) { return trainer.load(file), learned(trainer); }), expected);
}

TEST_F(EagerTrainer, NamesTheSampleOfTheDataSet) {
  std::vector<std::int32_t> wrong = y;
  wrong[77] = 5;
  std::vector<float> broken = x;
  broken[42 * 9 + 3] = std::numeric_limits<float>::quiet_NaN();
  eagerly({.global_batch = 32, .micro_batch = 7}, [&](auto& trainer) {
    const std::vector<float> before = learned(trainer);
    EXPECT_EQ(error_of<DataError>([&] { trainer.fit(Data(broken, y), {.epochs = 1}); }),
              "input 0, sample 42: value 3 is NaN");
    EXPECT_EQ(learned(trainer), before);
    EXPECT_EQ(error_of<DataError>([&] { trainer.fit(Data(x, wrong), {.epochs = 1}); }),
              "input 1, sample 77: label 5 is outside the 5 classes 0 to 4");
    EXPECT_EQ(error_of<DataError>([&] { trainer.fit(data, {.epochs = 1, .validate = Data(x, wrong).subset(70, 20)}); }),
              "validation data: input 1, sample 7: label 5 is outside the 5 classes 0 to 4");
    wrong[77] = y[77], wrong[0] = -1;
    EXPECT_EQ(error_of<DataError>([&] { trainer.fit(Data(x, wrong), {.epochs = 1}); }),
              "input 1, sample 0: label -1 is outside the 5 classes 0 to 4");
    EXPECT_EQ(learned(trainer), before);
    return 0;
  });
}

TEST_F(EagerTrainer, NamesTheInputOfTheDataSet) {
  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root() / "layer", 9, 1);
  const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const float> target) {
    const Var values = tape.input(in, {9}), of = tape.input(target, {1});
    return mean_per_sample(square(layer(values) - of));
  });
  Trainer trainer(net, optimizer, {.global_batch = 32});
  std::vector<float> target(150, 0.5f);
  target[7] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(Dataset(x, target), {.epochs = 1}); }),
            "input 1, sample 7: value 0 is infinite");
  target[7] = 0;
  EXPECT_EQ(trainer.fit(Dataset(x, target), {.epochs = 1}).size(), 1u);
}

TEST_F(EagerTrainer, NamesTheSampleOfAWeight) {
  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root() / "layer", 9, 1);
  const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const float> of) {
    const Var values = tape.input(in, {9}), weight = tape.input(of);
    return Loss(mean_per_sample(square(layer(values)))).weighted_by(weight);
  });
  std::vector<float> weights(150, 0.5f);
  weights[140] = -1;
  Trainer trainer(net, optimizer, {.global_batch = 32});
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(Dataset(x, weights), {.epochs = 1}); }),
            "input 1, sample 140: weight 0 is -1: a mean takes none below 0; multiply the loss by such factors, or use "
            "Reduction::sum");
  EXPECT_EQ(trainer.session().step_count(), 0);
  Trainer adds(net, optimizer, {.global_batch = 32, .reduction = Reduction::sum});
  EXPECT_EQ(adds.fit(Dataset(x, weights), {.epochs = 1}).size(), 1u);
}

TEST_F(EagerTrainer, FindsMetricsByName) {
  eagerly({.global_batch = 32}, [&](auto& trainer) {
    EXPECT_EQ(error_of<OptionError>([&] { trainer.session().metric("accuracy"); }),
              "no metric is named 'accuracy'; there are none");
    trainer.evaluate(unseen);
    EXPECT_EQ(trainer.session().metric("accuracy"), 0);
    EXPECT_EQ(error_of<OptionError>([&] { trainer.session().metric("accurcy"); }),
              "no metric is named 'accurcy'; there are 'accuracy'");
    return 0;
  });
}

TEST_F(EagerTrainer, RefusesWhatIsOfPlannedMemory) {
  for (const TrainerOptions& options : {TrainerOptions{.global_batch = 32, .memory_budget = 1_MiB},
                                        TrainerOptions{.global_batch = 32, .memory_budget = Budget::free_memory()}})
    EXPECT_EQ(error_of<OptionError>([&] { eagerly(options, [](auto&) { return 0; }); }),
              "an eager session has no .memory_budget and no .gather: limit its device's memory, Device::cpu(bytes)");
}

TEST_F(EagerTrainer, SessionsTakeRowsOfADataSet) {
  Parameters parameters(Device::cpu());
  const Model model(parameters.root());
  Session session(parameters, Accumulate{Sam{Adam{}}}, {.global_batch = 4});
  const std::vector<std::int32_t> rows{3, 1, 2, 0, 7};
  std::vector<float> in;
  std::vector<std::int32_t> label;
  for (const std::int32_t row : rows) {
    in.insert(in.end(), x.begin() + row * 9, x.begin() + row * 9 + 9);
    label.push_back(y[static_cast<std::size_t>(row)]);
  }
  const auto record = [&](EagerTape& tape) {
    const Var values = tape.input(in, {9}), of = tape.input(label);
    return model.loss(values, of);
  };
  std::int64_t taken = 0;
  session.accumulate_rows(rows, 0, false, taken, record);
  EXPECT_EQ(taken, 4) << "until the window is full";
  EXPECT_TRUE(session.again());
  const std::vector<float> values(parameters.values().begin(), parameters.values().end());
  EXPECT_EQ(error_of<OptionError>([&] { session.set_parameters(values); }),
            "set_parameters: the parameters are displaced until the window is given again: discard it first");
  EXPECT_EQ(error_of<DataError>([&] { session.set_parameters(std::span(values).first(3)); }),
            "set_parameters: the net has 260 parameters, got 3");
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate_rows({}, 0, false, taken, record); }), "a batch of 0 samples");
  Session calls(parameters, Accumulate{Adam{}, 2}, {.global_batch = 4});
  EXPECT_EQ(error_of<OptionError>([&] { calls.accumulate_rows(rows, 0, false, taken, record); }),
            "accumulate_rows: needs windows that are counted in samples");
}

TEST_F(EagerTrainer, GivesTheModelItsPartAlone) {
  Parameters parameters(Device::cpu());
  const Model model(parameters.root());
  std::vector<std::int64_t> sizes;
  const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
    EXPECT_EQ(std::ssize(label), tape.batch());
    EXPECT_EQ(std::ssize(in), 9 * tape.batch());
    sizes.push_back(tape.batch());
    const Var values = tape.input(in, {9}), of = tape.input(label);
    return model.loss(values, of);
  });
  Trainer trainer(net, optimizer, {.global_batch = 64, .micro_batch = 30});
  trainer.fit(all.subset(0, 70), {.epochs = 1, .validate = unseen});
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{1, 1, 30, 30, 4, 6, 30, 20})) << "one of each data set tells what labels may be";
}

TEST_F(EagerTrainer, RefusesParametersThatWereDeclaredSince) {
  Parameters parameters(Device::cpu());
  const Model model(parameters.root());
  const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
    const Var values = tape.input(in, {9}), of = tape.input(label);
    return model.loss(values, of);
  });
  Trainer trainer(net, optimizer, {.global_batch = 64});
  trainer.fit(data, {.epochs = 1});
  trainer.save(file);
  const nn::Linear late(parameters.root() / "late", 40, 30);
  const auto error =
      "parameters: 6 are declared, 4 have values: construct the whole model before making a session or calling `initialize`";
  EXPECT_EQ(error_of<TapeError>([&] { trainer.save(file); }), error);
  EXPECT_EQ(error_of<TapeError>([&] { trainer.load(file); }), error);
  EXPECT_EQ(error_of<TapeError>([&] { trainer.save_state(file); }), error);
  EXPECT_EQ(error_of<TapeError>([&] { trainer.fit(data, {.epochs = 1}); }), error);
  EXPECT_EQ(error_of<TapeError>([&] { trainer.evaluate(data); }), error);
  EXPECT_EQ(error_of<DataError>([&] { EagerTape(Device::cpu(), -1); }), "a tape cannot have -1 samples");
}

/// Fails when told to.
struct Failing {
  bool* fails;
  Checkpoint state() const { return {}; }
  void restore(const Checkpoint&) const {}
  void step(std::span<const ParameterView>, std::span<const GradientView>) const {
    if (*fails) throw std::runtime_error("no step");
  }
};

TEST_F(EagerTrainer, SessionsMakeAFailedStepBeforeTheyTakeMoreRows) {
  Parameters parameters(Device::cpu());
  const Model model(parameters.root());
  bool fails = true;
  Session session(parameters, Accumulate{Failing{&fails}}, {.global_batch = 2});
  const auto record = [&](EagerTape& tape) {
    const Var values = tape.input(std::span(x).first(18), {9}), of = tape.input(std::span(y).first(2));
    return model.loss(values, of);
  };
  const std::vector<std::int32_t> rows{0, 1};
  std::int64_t taken = 0;
  EXPECT_THROW(session.accumulate_rows(rows, 0, false, taken, record), std::runtime_error);
  EXPECT_EQ(taken, 2) << "also where the step throws";
  fails = false;
  session.accumulate_rows(rows, 0, false, taken, record);
  EXPECT_EQ(taken, 2) << "the first window's step";
  EXPECT_EQ(session.step_count(), 1);
  session.accumulate_rows(rows, 0, false, taken, record);
  EXPECT_EQ(taken, 4);
  EXPECT_EQ(session.step_count(), 2);
}

TEST_F(EagerTrainer, GoesOnAfterAStepThatFailed) {
  const std::vector<float> expected = eagerly({.global_batch = 32, .micro_batch = 7}, [&](auto& trainer) {
    trainer.fit(data, {.epochs = 2});
    return learned(trainer);
  });
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for (const Tail tail : {Tail::step, Tail::carry})
    for (const std::int64_t failing : {1, 3, 4, 6}) {  // of 4 steps an epoch; the fourth has the remainder
      Parameters parameters(Device::cpu());
      const Model model(parameters.root());
      const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
        const Var values = tape.input(in, {9}), of = tape.input(label);
        return model.loss(values, of);
      });
      double rate = 0.01;
      const auto rule = Accumulate{Adam{.learning_rate = schedule::variable(rate)}};
      Trainer trainer(net, rule, {.global_batch = 32, .micro_batch = 7, .tail = tail});
      const auto on_step = [&](std::int64_t step, const Averages&) { rate = step + 1 == failing ? none : 0.01; };
      if (failing == 1) rate = none;
      EXPECT_THROW(trainer.fit(data, {.epochs = 2, .on_step = on_step}), OptionError);
      EXPECT_EQ(trainer.session().step_count(), failing - 1);
      rate = 0.01;
      const History rest = trainer.fit(data, {.epochs = 2 - trainer.epoch()});
      EXPECT_EQ(rest.back().epoch, 1);
      EXPECT_EQ(trainer.session().step_count(), tail == Tail::step ? 8 : 6);
      if (tail == Tail::step) {
        EXPECT_EQ(learned(trainer), expected) << "step " << failing;
      }
    }
}

TEST_F(EagerTrainer, GoesOnToASecondEvaluationAfterAFirstThatFailed) {
  const auto train = [&](std::int64_t failing) {
    Parameters parameters(Device::cpu());
    const Model model(parameters.root());
    const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
      const Var values = tape.input(in, {9}), of = tape.input(label);
      return model.loss(values, of);
    });
    double radius = 0.05;
    const auto rule = Accumulate{Sam{Adam{.learning_rate = 0.01f}, schedule::variable(radius)}};
    Trainer trainer(net, rule, {.global_batch = 32, .micro_batch = 7});
    const auto on_step = [&](std::int64_t step, const Averages&) {
      if (step + 1 == failing) radius = std::numeric_limits<double>::quiet_NaN();
    };
    if (failing > 0) {
      EXPECT_THROW(trainer.fit(data, {.epochs = 2, .on_step = on_step}), OptionError);
    }
    radius = 0.05;
    trainer.fit(data, {.epochs = 2 - trainer.epoch()});
    EXPECT_EQ(trainer.session().step_count(), 8);
    return learned(trainer);
  };
  const std::vector<float> expected = train(0);
  for (const std::int64_t failing : {2, 4, 7}) EXPECT_EQ(train(failing), expected) << "step " << failing;
}

}  // namespace eager_trainer_test
