// A trained net: shown while it trains, evaluated, saved, loaded and run forward only.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

#include "../error_of.hpp"
#include "../models.hpp"

namespace inference_test {

using namespace models;

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
  Inference<ClassifierNet> one(load(file)), many(trainer.parameters(), 64);
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

TEST_F(InferenceOfClassifier, IsAssignedWithTheSizeOfItsBatches) {
  const Inference<ClassifierNet> many(trainer.parameters(), 64);
  const std::vector<float> zeros(ClassifierNet::parameter_elements);
  Inference<ClassifierNet> copy = many, one(zeros);
  std::vector<float> expected(100 * 5), got(100 * 5);
  copy(x, expected);
  one(x, got);
  EXPECT_EQ(got, std::vector<float>(100 * 5, 0));
  one = many;
  one(x, got);
  EXPECT_EQ(got, expected);
}

TEST_F(InferenceOfClassifier, TakesOtherParametersWhichCopiesDoNot) {
  const std::vector<float> trained(trainer.parameters().values().begin(), trainer.parameters().values().end());
  const std::vector<float> zeros(trained.size());
  Inference<ClassifierNet> classify(zeros, 100), copy = classify;
  std::vector<float> out(500), expected(500), of_copy(500, 1);
  classify.set_parameters(trained);
  classify(x, out);
  Inference<ClassifierNet>(trained, 100)(x, expected);
  EXPECT_EQ(out, expected);
  copy(x, of_copy);
  EXPECT_EQ(of_copy, std::vector<float>(500, 0));
  copy.set_parameters(trainer.parameters());
  copy(x, of_copy);
  EXPECT_EQ(of_copy, expected);
  EXPECT_THROW(copy.set_parameters(std::span(trained).first(3)), DataError);

  Inference<ClassifierNet> follower(zeros, 7);  // another plan
  follower.set_parameters(classify);
  follower(x, of_copy);
  EXPECT_EQ(of_copy, expected);
  classify.set_parameters(zeros);
  follower(x, of_copy);
  EXPECT_EQ(of_copy, expected) << "shared until one of them is given others";
}

TEST_F(InferenceOfClassifier, KeepsItsParametersWhereOthersAreNoNumbers) {
  const std::vector<float> trained(trainer.parameters().values().begin(), trainer.parameters().values().end());
  Inference<ClassifierNet> classify(trained, 100);
  std::vector<float> expected(500), out(500), others(trained.size());
  classify(x, expected);
  const std::size_t behind = trainer.parameters()["hidden/weight"].values.size();
  others[behind + 2] = std::numeric_limits<float>::quiet_NaN();
  const char* const why = "inference: element 2 of parameter 'hidden/bias' is not a number";
  EXPECT_EQ(error_of<DataError>([&] { classify.set_parameters(others); }), why);
  EXPECT_EQ(error_of<DataError>([&] { Inference<ClassifierNet> other(others); }), why);
  classify(x, out);
  EXPECT_EQ(out, expected);
  others[behind + 2] = -std::numeric_limits<float>::infinity();  // may serve as a mask
  classify.set_parameters(others);
}

TEST_F(InferenceOfClassifier, FilesPassBetweenCompiledAndEagerModels) {
  trainer.save(file);
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  EXPECT_THROW(save_parameters(file + "x", parameters), TapeError);  // they have no values yet
  load_parameters(load(file), parameters);
  EXPECT_EQ(differing_bits(std::as_bytes(trainer.parameters().values()), std::as_bytes(parameters.values())), 0);
  parameters["hidden/weight"].values[0] = 2;
  save_parameters(file, parameters);
  trainer.load(file);
  EXPECT_EQ(trainer.parameters()["hidden/weight"].values[0], 2);
  const nn::Linear late(parameters.root() / "late", 2, 2);
  EXPECT_THROW(load_parameters(load(file), parameters), TapeError);  // declared when others had values
  Parameters others(Device::cpu());
  const nn::Linear other(others.root() / "other", 2, 2);
  EXPECT_THROW(load_parameters(load(file), others), FileError);
  EXPECT_FALSE(others.initialized());
}

TEST_F(InferenceOfClassifier, FilesOfSixteenBitsHoldRoundedParameters) {
  std::vector<float> rounded;
  for (const float value : trainer.parameters().values()) rounded.push_back(static_cast<float>(f16(value)));
  std::vector<float> out(500), expected(500);
  Inference<ClassifierNet>(rounded, 100)(x, expected);
  trainer.save(file, {}, DType::f16);
  const auto bytes = static_cast<double>(std::filesystem::file_size(file));
  Inference<ClassifierNet>(load(file), 100)(x, out);
  EXPECT_EQ(out, expected);
  trainer.save(file);
  EXPECT_NEAR(static_cast<double>(std::filesystem::file_size(file)) - bytes, static_cast<double>(rounded.size() * 2), 16);
  save_parameters(file, trainer.parameters(), {}, DType::f16);
  EXPECT_EQ(static_cast<double>(std::filesystem::file_size(file)), bytes);
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  load_parameters(load(file), parameters);
  EXPECT_TRUE(std::ranges::equal(parameters.values(), rounded));
  save_parameters(file, parameters, {}, DType::bf16);
  EXPECT_EQ(load(file).tensor("output/bias").values[0], static_cast<float>(bf16(parameters["output/bias"].values[0])));

  EXPECT_EQ(error_of<OptionError>([&] { trainer.save(file, {}, DType::f64); }),
            "saving parameters of float as double: files hold them as float, bf16 or f16");
  EXPECT_EQ(error_of<OptionError>([&] { trainer.save(file, {}, DType::u8); }),
            "saving parameters of float as uint8: files hold them as float, bf16 or f16");
  trainer.parameters()["hidden/bias"].values[16] = -1e5f;
  EXPECT_EQ(error_of<FileError>([&] { trainer.save(file, {}, DType::f16); }),
            "element 16 of tensor 'hidden/bias' is -100000, which f16 does not hold");
  EXPECT_EQ(load(file).tensor("hidden/bias").dtype, DType::bf16);  // unchanged
}

/// The classifier's hidden layer below an output of another width.
struct Finer {
  nn::Linear hidden, output;
  constexpr explicit Finer(Scope s) : hidden(s / "hidden", 9, 17), output(s / "output", 17, 6) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(relu(hidden(x))), label)}; }
};
using FinerNet = Compiled<Finer, Inputs<f32[9], i32>>;

TEST_F(InferenceOfClassifier, APartOfItsParametersBeginsAnotherNet) {
  trainer.save(file);
  const auto trained = trainer.parameters()["hidden/weight"].values;
  Trainer finer(FinerNet{}, Accumulate{Adam{}}, {.global_batch = 64, .seed = 5});
  const std::vector<float> drawn(finer.parameters().values().begin(), finer.parameters().values().end());
  const auto is_hidden_alone = [&](const auto& parameters) {
    EXPECT_TRUE(std::ranges::equal(parameters["hidden/weight"].values, trained));
    EXPECT_TRUE(std::ranges::equal(parameters["output/weight"].values, std::span(drawn).subspan(170, 102)));
  };
  const std::string wide = "tensor 'output/weight' is [17, 5], but [17, 6] is needed",
                    typo = "load: no parameter is named 'hiden/*'; ";
  EXPECT_EQ(error_of<FileError>([&] { finer.load(file); }), file + ": " + wide);
  EXPECT_TRUE(error_of<OptionError>([&] { finer.load(file, "hiden/*"); }).starts_with(typo));
  EXPECT_TRUE(std::ranges::equal(finer.parameters().values(), drawn));
  finer.load(file, "hidden/*");
  is_hidden_alone(finer.parameters());

  Session session(FinerNet{}, Accumulate{Adam{}}, {.global_batch = 64, .seed = 5});
  load_parameters(load(file), session.parameters(), "hidden/*");
  is_hidden_alone(session.parameters());

  Parameters eager(Device::cpu());
  const Finer model(eager.root());
  EXPECT_THROW(load_parameters(load(file), eager, "hidden/*"), TapeError);  // the output has no values yet
  EXPECT_FALSE(eager.initialized());
  eager.initialize(5);
  load_parameters(load(file), eager, "hidden/*");
  is_hidden_alone(eager);
}

TEST_F(InferenceOfClassifier, RefusesOtherFilesByName) {
  trainer.save(file);
  Trainer<SequenceNet, Accumulate<Sgd>> sequence{SequenceNet{}, Accumulate{Sgd{}}, {.global_batch = 4}};
  const std::vector<float> before(sequence.parameters().values().begin(), sequence.parameters().values().end());
  EXPECT_THROW(sequence.load(file), FileError);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), sequence.parameters().values().begin()));
  std::vector<float> out(3);
  Checkpoint damaged = load(file);
  damaged.tensors.at("hidden/weight").values[3] = NAN;
  const std::string text = file + ": element 3 of tensor 'hidden/weight' is not a number";
  EXPECT_EQ(error_of<FileError>([&] { Inference<ClassifierNet> none(damaged); }), text);
  save(file, damaged);
  EXPECT_EQ(error_of<FileError>([&] { trainer.load(file); }), text);
  EXPECT_NO_THROW(trainer.load(file, "output/*"));
  damaged.tensors.at("hidden/weight").values[3] = -INFINITY;
  Inference<ClassifierNet> classify(damaged);
  EXPECT_EQ(error_of<DataError>([&] { classify(x, out); }), "inference: 100 samples need 500 outputs, got 3");
  EXPECT_EQ(error_of<DataError>([&] { classify(std::span(x).first(9), out); }),
            "inference: 1 sample needs 5 outputs, got 3");
  out.assign(500, 7);
  x.back() = INFINITY;
  EXPECT_EQ(error_of<DataError>([&] { classify(x, out); }), "input 0, sample 99: value 8 is infinite");
  EXPECT_EQ(std::ranges::count(out, 7.0f), 500);
}

TEST_F(InferenceOfClassifier, WritesNoOutputsWhereInputsAre) {
  Inference<ClassifierNet> classify(trainer.parameters());
  std::vector<float> expected(5), both(9 + 5);
  const auto image = std::span(both).first(9), first = std::span(both).first(5), last = std::span(both).subspan(8, 5);
  std::copy_n(x.begin(), 9, both.begin());
  const std::string text = "inference: outputs would be written over input 0 while it is read";
  EXPECT_EQ(error_of<DataError>([&] { classify(image, first); }), text);
  EXPECT_EQ(error_of<DataError>([&] { classify(image, last); }), text);
  EXPECT_TRUE(std::ranges::equal(image, std::span(x).first(9)));
  classify(std::span(x).first(9), expected);
  classify(image, std::span(both).last(5));  // outputs may lie beside the input
  EXPECT_TRUE(std::ranges::equal(std::span(both).last(5), expected));
}

TEST_F(InferenceOfClassifier, EvaluatesToTheSameBitsInBatchesOfOneOrAll) {
  Session small(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 1, .seed = 4}),
      large(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 100, .seed = 4});
  EXPECT_EQ(small.evaluate(x, y).loss(), large.evaluate(x, y).loss());
  EXPECT_EQ(small.evaluate(x, y).metric(0), large.evaluate(x, y).metric(0));
}

TEST_F(InferenceOfClassifier, EvaluatingInsideAWindowChangesNoBit) {
  const SessionOptions options{.global_batch = 64, .micro_batch = 7, .seed = 4};
  Session plain(ClassifierNet{}, Accumulate{Adam{}}, options), looked(ClassifierNet{}, Accumulate{Adam{}}, options);
  for (auto [a, b] : Dataset(x, y).batches(30)) {
    plain.accumulate(a, b);
    looked.accumulate(a, b);
    EXPECT_GT(looked.position(), 0);
    looked.evaluate(x, y);
  }
  EXPECT_EQ(plain.flush() + looked.flush(), 2);
  EXPECT_EQ(differing_bits(plain.parameter_bytes(), looked.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(plain.optimizer_state_bytes(), looked.optimizer_state_bytes()), 0);
  EXPECT_EQ(plain.last_window().loss(), looked.last_window().loss());
}

TEST_F(InferenceOfClassifier, ShowsProgressWhereAskedAndNoneInAFile) {
  const Dataset data(x, y);
  History history;
  const auto shown = [&](Progress when) {
    testing::internal::CaptureStderr();
    history = trainer.fit(data, {.epochs = 2, .validate = data.subset(0, 50), .progress = when});
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(shown(Progress::automatic), "");  // what is captured is no terminal
  EXPECT_EQ(shown(Progress::never), "");
  const std::string text = shown(Progress::always);
  double loss[2], validation[2], accuracy[2], speed[2], left[2];
  int end = 0;
  std::sscanf(text.c_str(),
              "epoch 8/9  loss %lf  validation %lf  accuracy %lf  %lf samples/s  %lf s left\n"
              "epoch 9/9  loss %lf  validation %lf  accuracy %lf  %lf samples/s  %lf s left\n%n",
              &loss[0], &validation[0], &accuracy[0], &speed[0], &left[0], &loss[1], &validation[1], &accuracy[1], &speed[1],
              &left[1], &end);
  ASSERT_EQ(end, static_cast<int>(text.size())) << text;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(loss[i], history[i].training.loss(), 5.1e-5);
    EXPECT_NEAR(validation[i], history[i].validation.loss(), 5.1e-5);
    EXPECT_NEAR(accuracy[i], history[i].validation.metric(trainer.metric("accuracy")), 5.1e-5);
    EXPECT_NEAR(speed[i] * history[i].seconds, 100, 1);
  }
  EXPECT_EQ(left[1], 0);
}

/// A model that another program trained needs no loss here.
struct Forward {
  Classifier classifier;
  constexpr explicit Forward(Scope s) : classifier(s) {}
  constexpr Var predict(Var x) const { return softmax(classifier.predict(x)); }
};

TEST_F(InferenceOfClassifier, NeedsNoLoss) {
  using Net = Compiled<Forward, Inputs<f32[9]>>;
  Inference<Net> classify(trainer.parameters().values(), 100);
  Inference<ClassifierNet> scores(trainer.parameters().values(), 100);
  std::vector<float> shares(500), before(500);
  classify(x, shares);
  scores(x, before);
  for (std::size_t s = 0; s < 100; ++s) {
    double sum = 0, all = 0;
    for (std::size_t c = 0; c < 5; ++c) sum += shares[s * 5 + c], all += std::exp(before[s * 5 + c]);
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_NEAR(shares[s * 5], std::exp(before[s * 5]) / all, 1e-6);
  }
  EXPECT_EQ(Net::parameter(0).name.view(), "hidden/weight");
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
  EXPECT_TRUE(std::equal(small.parameters().values().begin(), small.parameters().values().end(),
                         trainer.parameters().values().begin()));
}

}  // namespace inference_test
