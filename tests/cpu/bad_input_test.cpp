// Bad input: a typed error that names the place and the numbers, and nothing is changed.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "../error_of.hpp"
#include "../models.hpp"

namespace bad_input_test {

using namespace models;

struct BadInput : testing::Test {
  Session<ClassifierNet, Accumulate<Sgd>> session{ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8}};
  std::vector<float> x = numbers(4 * 9);
  std::vector<std::int32_t> y = labels(4, 5);
  std::vector<std::byte> before{session.parameter_bytes().begin(), session.parameter_bytes().end()};

  template <class E>
  std::string refused() {
    try {
      session.accumulate(x, y);
    } catch (const E& error) {
      EXPECT_EQ(session.position(), 0);
      EXPECT_EQ(differing_bits(before, session.parameter_bytes()), 0);
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(BadInput, LabelsOutsideTheClasses) {
  for (const std::int32_t label : {-1, 5}) {
    y[2] = label;
    EXPECT_EQ(refused<DataError>(), "input 1, sample 2: label " + std::to_string(label) + " is outside the 5 classes 0 to 4");
  }
}

TEST_F(BadInput, ValuesThatAreNotFinite) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    x[3 * 9 + 1] = bad;
    EXPECT_EQ(refused<DataError>(), bad != bad ? "input 0, sample 3: value 1 is NaN" : "input 0, sample 3: value 1 is infinite");
  }
}

TEST_F(BadInput, SpansThatDoNotFit) {
  x.pop_back();
  EXPECT_EQ(refused<DataError>(), "input 0: 35 values are not whole samples of 9");
  x.clear();
  y.clear();
  EXPECT_EQ(refused<DataError>(), "a batch of 0 samples");
}

TEST(BadOptions, SizesThatCannotBe) {
  for (const SessionOptions& options :
       {SessionOptions{}, SessionOptions{.global_batch = -1}, SessionOptions{.global_batch = 8, .micro_batch = -1}})
    EXPECT_THROW(Session(ClassifierNet{}, Accumulate{Sgd{}}, options), OptionError);
  try {
    Session(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8, .micro_batch = 9});
    FAIL() << "a micro-batch that no window could fill";
  } catch (const OptionError& error) {
    EXPECT_STREQ(error.what(), "Session: micro-batches of 9 samples are larger than the global batch of 8");
  }
  EXPECT_THROW(Trainer(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8, .micro_batch = 9}), OptionError);
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  EXPECT_THROW(Session(parameters, Accumulate{Sgd{}}, {.global_batch = 8, .micro_batch = 9}), OptionError);
  EXPECT_THROW(Session(ClassifierNet{}, Accumulate{Sgd{}, -1}, {.global_batch = 8}), OptionError);
  const auto refused = [](const SessionOptions& options) {
    return error_of<OptionError>([&] { Session(ClassifierNet{}, Accumulate{Sgd{}}, options); });
  };
  EXPECT_EQ(refused({.global_batch = 8, .memory_budget = -1}), "Session: a budget of -1 bytes");
  EXPECT_EQ(refused({.global_batch = 8, .reduction = Reduction::sum, .noise_batch = 2}),
            "Session: gradient noise is measured of means: a noise_batch needs Reduction::mean");
  EXPECT_EQ(error_of<OptionError>([] {
              Session(ClassifierNet{}, Accumulate{Sgd{.learning_rate = -1.0f}}, {.global_batch = 8, .memory_budget = -1});
            }),
            "Session: a budget of -1 bytes") << "options before rules";
  EXPECT_THROW(Trainer(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 0}), OptionError);
  EXPECT_THROW(Trainer(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8, .memory_budget = 100}), MemoryError);
  EXPECT_THROW(Trainer(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8, .micro_batch = 8, .memory_budget = 100}),
               MemoryError);
}

TEST(BadOptions, ThreadsThatCannotBe) {
  for (const int threads : {-1, 0, 100'000})
    EXPECT_EQ(
        error_of<OptionError>([&] { Session(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8, .threads = threads}); }),
        "Session: " + std::to_string(threads) + " threads; 1 to 1024 are possible");
}

TEST(BadOptions, WaysToFitThatCannotBe) {
  Trainer trainer(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8});
  const std::vector<float> x = numbers(16 * 9);
  const std::vector<std::int32_t> y = labels(16, 5);
  const Dataset data(x, y);
  const auto bytes = trainer.session().parameter_bytes();
  const std::vector<std::byte> before(bytes.begin(), bytes.end());
  EXPECT_EQ(error_of<OptionError>([&] { trainer.fit(data, {.epochs = -1}); }), "fit: -1 epochs");
  EXPECT_EQ(error_of<OptionError>([&] { trainer.fit(data, {.patience = 3}); }),
            "fit: a patience of 3 epochs needs data to validate on, or a monitor");
  EXPECT_EQ(error_of<OptionError>([&] { trainer.fit(data, {.validate = data, .patience = -2}); }),
            "fit: a patience of -2 epochs");
  EXPECT_EQ(error_of<OptionError>([&] { trainer.fit(data, {.monitor = [](const EpochRecord&) { return 0.0; }}); }),
            "fit: a monitor or a min_delta does nothing without a patience");
  EXPECT_THROW(trainer.fit(data, {.min_delta = 0.1}), OptionError);
  std::vector<double> weights(15, 1.0);
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(data, {.draw = weights}); }), "fit: .draw has 15 weights for 16 samples");
  weights.push_back(-1);
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(data, {.draw = weights}); }), "draw: sample 15: a weight of -1");
  EXPECT_EQ(trainer.epoch(), 0);
  EXPECT_EQ(differing_bits(before, bytes), 0);
  Trainer drops(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 17, .tail = Tail::drop});
  EXPECT_EQ(error_of<OptionError>([&] { drops.fit(data, {.epochs = 1}); }),
            "fit: Tail::drop would drop all 16 samples: a window has 17");
  Trainer grows(ClassifierNet{}, Accumulate{Sgd{}},
                {.global_batch = 32, .tail = Tail::drop, .window_samples = schedule::step(8, 2, 4.0)});
  EXPECT_EQ(error_of<OptionError>([&] { grows.fit(data, {.epochs = 3}); }),
            "fit: no step in epoch 2: Tail::drop drops all 16 samples, which fill no window");
  EXPECT_EQ(grows.session().step_count(), 2);
}

TEST(BadOptions, MetricsThatAreNotThere) {
  const float values[] = {1, 2};
  const float* const of[] = {values, values + 1};
  Averages averages(1);
  averages.add(of, nullptr, 1);
  EXPECT_EQ(averages.metric(0), 2);
  EXPECT_EQ(error_of<OptionError>([&] { averages.metric(1); }), "metric 1 of 1, from 0");
  EXPECT_EQ(error_of<OptionError>([&] { averages.metric(-1); }), "metric -1 of 1, from 0");
  EXPECT_EQ(error_of<OptionError>([] { Averages().metric(0); }),
            "metric 0 of 0: nothing was averaged, as of validation data if .validate was not given");
}

TEST(BadOptions, DataSetsThatCannotBe) {
  const std::vector<float> x(10);
  const std::vector<std::int32_t> none, three(3);
  EXPECT_THROW(Dataset(x, none), DataError);
  EXPECT_THROW(Dataset(x, three), DataError);
  const std::vector<std::int32_t> five(5);
  EXPECT_THROW(Dataset(x, five).split(1.0), DataError);
  EXPECT_THROW(Dataset(x, five).split(NAN), DataError);
  EXPECT_THROW(Dataset(x, five).batches(0), OptionError);
}

TEST(BadOptions, RatesThatCannotBe) {
  for (const double rate : {-0.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(Session(ClassifierNet{}, Accumulate{Sgd{.learning_rate = rate}}, {.global_batch = 8}), OptionError) << rate;
  EXPECT_EQ(error_of<OptionError>([] {
              Session(ClassifierNet{}, Accumulate{Sgd{.dampening = 0.5}}, {.global_batch = 8});
            }),
            "an optimizer's dampening needs a momentum");
}

TEST_F(BadInput, RatesThatAreNoneInALaterStep) {
  double rate = 0.1;
  Session rated(ClassifierNet{}, Accumulate{Sgd{.learning_rate = schedule::variable(rate)}}, {.global_batch = 8});
  rated.accumulate(numbers(8 * 9), labels(8, 5));
  const auto values = rated.parameters().values();
  const std::vector<float> learned(values.begin(), values.end());
  for (const auto& [bad, text] : {std::pair{double{NAN}, "nan"}, {1e300, "inf"}, {-0.25, "-0.25"}}) {
    rate = bad;
    EXPECT_EQ(error_of<OptionError>([&] { rated.accumulate(numbers(8 * 9), labels(8, 5)); }),
              std::string("an optimizer's learning_rate is ") + text + " in step 2, which must be finite and at least 0");
    EXPECT_TRUE(std::ranges::equal(learned, values));
  }
  rate = 0.1;
  EXPECT_EQ(rated.accumulate(numbers(8 * 9), labels(8, 5)), 2);  // and the window that waited for its step
}

TEST(BadOptions, WindowsWhoseLengthIsNone) {
  const Scalar length = schedule::function([](std::int64_t step) { return step == 0 ? 4.0 : -5.0; });
  Session session(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8, .window_samples = length});
  EXPECT_EQ(session.accumulate(numbers(4 * 9), labels(4, 5)), 1);
  EXPECT_EQ(error_of<OptionError>([&] { session.accumulate(numbers(4 * 9), labels(4, 5)); }),
            "step 2: a window of -5 samples");
}

TEST_F(BadInput, SessionsThatWereMovedFrom) {
  auto taker = std::move(session);
  const auto moved = [](auto f) { return error_of<OptionError>(f); };
  const std::string why = "the session was moved from: it has no parameters";
  EXPECT_EQ(moved([&] { session.accumulate(x, y); }), why);
  EXPECT_EQ(moved([&] { session.evaluate(x, y); }), why);
  EXPECT_EQ(moved([&] { session.parameters(); }), why);
  EXPECT_EQ(moved([&] { session.state(); }), why);
  EXPECT_EQ(moved([&] { session.restore(taker.state()); }), why);
  EXPECT_EQ(moved([&] { session.set_parameters(std::vector<float>(ClassifierNet::parameter_elements)); }), why);
  EXPECT_EQ(moved([&] { session.set_budget(1000); }), why);
  EXPECT_EQ(differing_bits(before, taker.parameter_bytes()), 0);
  auto& same = taker;
  taker = std::move(same);
  EXPECT_EQ(moved([&] { taker.accumulate(x, y); }), why);
}

struct CallsBack : testing::Test {
  const std::vector<float> x = numbers(64 * 9);
  const std::vector<std::int32_t> y = labels(64, 5);
  const Dataset<float, std::int32_t> data{x, y}, fewer = data.subset(0, 40);
  const std::string file = testing::TempDir() + "calls_back_" + std::to_string(::getpid());
  Trainer<ClassifierNet, Accumulate<Sgd>> trainer{ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 16}};
  ~CallsBack() override { std::remove(file.c_str()); }
  std::string of_fit, of_load;
  int calls = 0;
  void call_back(const Dataset<float, std::int32_t>& other) {
    if (calls++ > 0) return;
    of_fit = error_of<OptionError>([&] { trainer.fit(other, {.epochs = 1}); });
    of_load = error_of<Error>([&] { trainer.load_state(file); });
  }
};

TEST_F(CallsBack, ATrainerIsInOneFitAtATime) {
  trainer.save_state(file);
  trainer.fit(data, {.epochs = 2, .on_step = [&](auto&&...) { call_back(data); }});
  EXPECT_EQ(of_fit, "fit: this trainer is inside a fit");
  EXPECT_EQ(of_load, "load_state: an epoch of this trainer has begun: load states in on_epoch");
  EXPECT_EQ(trainer.epoch(), 2);
  trainer.load_state(file);  // the fit is over
  EXPECT_EQ(trainer.epoch(), 0);
}

TEST_F(CallsBack, AStateOfOtherDataIsRefusedBetweenEpochs) {
  const auto stop = [&](auto&&...) {
    trainer.save_state(file);
    throw FileError("enough");
  };
  EXPECT_THROW(trainer.fit(fewer, {.epochs = 1, .on_step = stop}), FileError);
  trainer.load_state(file);
  trainer.fit(fewer, {.epochs = 1, .on_epoch = [&](auto&&...) { trainer.load_state(file), calls = 5; }});
  EXPECT_EQ(calls, 5);
  calls = 0;
  trainer.fit(fewer, {.epochs = 1});
  trainer.fit(data, {.epochs = 1, .on_epoch = [&](auto&&...) { call_back(fewer); }});
  EXPECT_EQ(of_fit, "fit: this trainer is inside a fit");
  EXPECT_NE(of_load.find("has begun on 40 samples, but now there are 64"), std::string::npos) << of_load;
}

TEST(BadOptions, FilesWhoseValuesDoNotFillTheirShapes) {
  Session session(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8});
  for (const std::size_t count : {0u, 2u, 2000u}) {
    Checkpoint file = session.state();
    file.tensors.at("output/weight").values.resize(count);
    EXPECT_THROW(session.restore(file), FileError) << count;
    EXPECT_THROW((Inference<ClassifierNet>(file)), FileError) << count;
  }
}

TEST(BadOptions, StatesThatHaveCountedTooMuch) {
  Session session(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8});
  for (const char* note : {"step", "position", "calls"}) {
    Checkpoint file = session.state();
    file.notes.at(note) = "9223372036854775807";
    EXPECT_THROW(session.restore(file), FileError) << note;
  }
}

TEST(BadOptions, NamesAndPositionsThatAreNot) {
  Session session(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 8});
  EXPECT_THROW(session.parameters()["hidden/wait"], OptionError);
  EXPECT_EQ(error_of<OptionError>([&] { session.parameters()[4]; }), "no parameter 4: there are 4, counted from 0");
  EXPECT_EQ(error_of<OptionError>([&] { session.parameters()[-1]; }), "no parameter -1: there are 4, counted from 0");
}

}  // namespace bad_input_test
