// Fits in which nothing can be learned: which are errors, which are not, and what they restore.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../resume.hpp"

namespace hopeless_fit_test {

using namespace resume;

/// log(w·x) with a weight of 0: the loss is infinite, whatever the samples.
struct Lost {
  Parameter weight;
  constexpr explicit Lost(Scope s) : weight(s.parameter("weight", Shape{2}, init::constant(0))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(log(x * weight), {-1})); }
};

TEST(HopelessFit, IsAnErrorWhereAllWeightsAreZero) {
  const std::vector<float> in(20 * 4), target(20 * 3);
  std::vector<float> weight(20);
  Trainer trainer(WeightedNet{}, Accumulate{Sgd{}}, {.global_batch = 8});
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(Dataset(in, target, weight), {.epochs = 2}); }),
            "fit: no step in epoch 1: the weights of its samples are 0");
  weight[3] = 1;
  trainer.fit(Dataset(in, target, weight), {.epochs = 2});
  EXPECT_EQ(trainer.session().step_count(), 2);
}

/// The difference of two infinities, which is a NaN with a sign on x86-64 and without one on AArch64.
struct Undefined {
  Parameter p;
  constexpr explicit Undefined(Scope s) : p(s.parameter("p", Shape{2}, init::constant(1))) {}
  constexpr Loss loss(Var x) const {
    const Var far = exp(1000.0 * p.on(x)) * x;
    return {mean_per_sample(far - far)};
  }
};

TEST(HopelessFit, TellsNoSignOfNaN) {
  const std::vector<float> x(20, 1.0f);
  Trainer trainer(Compiled<Undefined, Inputs<f32[2]>>{}, Accumulate{Sgd{}}, {.global_batch = 10});
  EXPECT_EQ(error_of<NonFiniteError>([&] { trainer.fit(Dataset<float>::of(10, x), {.epochs = 1}); }),
            "fit: no step in epoch 1: the loss or its gradient was not finite in all 1 windows; the last loss was nan; "
            "first_non_finite<Net>(parameters, inputs...) names the op");
}

TEST(HopelessFit, IsAnErrorOfItsFirstEpoch) {
  using Net = Compiled<Lost, Inputs<f32[2]>>;
  const std::vector<float> x(20, 1.0f);
  const Dataset<float> data = Dataset<float>::of(10, x);
  Trainer trainer(Net{}, Accumulate{Sgd{.learning_rate = 0.1f}}, {.global_batch = 4});
  int epochs = 0;
  EXPECT_EQ(error_of<NonFiniteError>([&] {
              trainer.fit(data, {.epochs = 5, .on_epoch = [&](const EpochRecord&) { ++epochs; }});
            }),
            "fit: no step in epoch 1: the loss or its gradient was not finite in all 3 windows; the last loss was -inf; "
            "first_non_finite<Net>(parameters, inputs...) names the op");
  EXPECT_EQ(epochs, 1);
  Trainer scaled(Net{}, Accumulate{LossScale{Sgd{.learning_rate = 0.1f}}}, {.global_batch = 4});
  EXPECT_THROW(scaled.fit(data, {.epochs = 50}), NonFiniteError);
  EXPECT_EQ(scaled.session().loss_scale(), 1) << "before, a smaller scale might have helped";
}

/// Steps of one length, and 0/0 where a gradient is 0.
struct Signs {
  Scalar learning_rate = 0.1f;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(parameter - learning_rate * gradient / sqrt(gradient * gradient), state);
  }
};

struct Product {
  Parameter weight;
  constexpr explicit Product(Scope s) : weight(s.parameter("weight", Shape{2}, init::constant(0))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(x * weight, {-1})); }
};

TEST(HopelessFit, IsOneWhoseOptimizerMakesParametersThatAreNoNumbers) {
  using Net = Compiled<Product, Inputs<f32[2]>>;
  std::vector<float> x(20);
  for (std::size_t i = 0; i < 20; i += 2) x[i] = 1;  // the other number of each sample gives no gradient
  const Dataset<float> data = Dataset<float>::of(10, x);
  Trainer trainer(Net{}, Accumulate{Signs{}}, {.global_batch = 4});
  int epochs = 0;
  const FitOptions<Dataset<float>> options{.epochs = 3, .on_epoch = [&](const EpochRecord&) { ++epochs; }};
  EXPECT_EQ(error_of<NonFiniteError>([&] { trainer.fit(data, options); }),
            "fit: element 1 of parameter 'weight' is not a number within epoch 1") << "a window was dropped";
  EXPECT_EQ(epochs, 0) << "nothing of it is saved";
}

/// Adds 1 in each of the first three steps, then 0/0.
struct Failing {
  constexpr auto operator()(Var parameter, Var, NoState state, Var step) const {
    return update(parameter + 1.0 + where(step > 3.0, (step - step) / (step - step), 0.0), state);
  }
};

TEST(HopelessFit, IsNoneWhoseEpochIsResumed) {  // its earlier windows made steps
  const std::vector<float> in(20 * 4), target(20 * 3);
  std::vector<float> weight(20);
  weight[3] = weight[7] = 1;
  const auto path = (std::filesystem::temp_directory_path() / "gradual_resumed_epoch.safetensors").string();
  const Dataset data(in, target, weight);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {  // for some, the rest has only windows without weight
    const TrainerOptions options{.global_batch = 4, .seed = seed};
    Trainer whole(WeightedNet{}, Accumulate{Sgd{}}, options), rest(WeightedNet{}, Accumulate{Sgd{}}, options);
    whole.fit(data, {.on_step = [&](std::int64_t, const Averages&) { whole.save_state(path); }});
    rest.load_state(path);
    rest.fit(data);
    EXPECT_EQ(rest.session().step_count(), whole.session().step_count());
    EXPECT_EQ(rest.epoch(), 1);
  }
  std::filesystem::remove(path);
}

TEST(HopelessFit, PutsTheBestParametersBackWhereAllWindowsAreDropped) {
  using Net = Compiled<Product, Inputs<f32[2]>>;
  std::vector<float> x(20, 1.0f);
  const Dataset<float> data = Dataset<float>::of(10, x);
  Trainer trainer(Net{}, Accumulate{Sgd{}}, {.global_batch = 10});
  std::vector<float> first;
  const FitOptions<Dataset<float>> options{.epochs = 9, .patience = 5, .monitor = [](const EpochRecord& e) { return e.epoch; },
                                           .on_epoch = [&](const EpochRecord& e) {
                                             const auto values = trainer.parameters().values();
                                             if (e.epoch == 0) first.assign(values.begin(), values.end());
                                             if (e.epoch == 2) trainer.session().set_parameters(std::vector<float>(2, 3e38f));
                                           }};
  EXPECT_EQ(error_of<NonFiniteError>([&] { trainer.fit(data, options); }),
            "fit: no step in epoch 4: the loss or its gradient was not finite in all 1 windows; the last loss was inf, "
            "as with a learning rate that is too high; first_non_finite<Net>(parameters, inputs...) names the op");
  EXPECT_TRUE(std::ranges::equal(trainer.parameters().values(), first));
}

TEST(HopelessFit, IsNoneWhereOnEpochGoesBack) {
  using Net = Compiled<Product, Inputs<f32[2]>>;
  const std::vector<float> x(20, 1.0f);
  const Dataset<float> data = Dataset<float>::of(10, x);
  const auto path = (std::filesystem::temp_directory_path() / "gradual_goes_back.safetensors").string();
  Trainer trainer(Net{}, Accumulate{Sgd{}}, {.global_batch = 10});
  trainer.save_state(path);
  int lost = 0;
  trainer.fit(data, {.epochs = 3, .on_epoch = [&](const EpochRecord& e) {
                       if (e.training.count() == 0) ++lost, trainer.load_state(path);
                       else if (lost == 0) trainer.session().set_parameters(std::vector<float>(2, 3e38f));
                     }});
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(trainer.epoch(), 1);
  std::filesystem::remove(path);
}

TEST(HopelessFit, PutsTheBestParametersBackFirst) {
  using Net = Compiled<Product, Inputs<f32[2]>>;
  const std::vector<float> x(20, 1.0f);
  const Dataset<float> data = Dataset<float>::of(10, x);
  Trainer trainer(Net{}, Accumulate{Failing{}}, {.global_batch = 10});
  EXPECT_EQ(error_of<NonFiniteError>([&] {
              const auto monitor = [](const EpochRecord& e) { return e.epoch == 1 ? 0 : 1; };
              trainer.fit(data, {.epochs = 9, .patience = 2, .monitor = monitor});
            }),
            "fit: element 0 of parameter 'weight' is not a number after epoch 4");
  EXPECT_EQ(trainer.parameters()["weight"].values[0], 2) << "of the second epoch";
}

TEST(HopelessFit, PutsTheBestParametersBackWithinAnEpoch) {
  using Net = Compiled<Product, Inputs<f32[2]>>;
  const std::vector<float> x(20, 1.0f);
  const Dataset<float> data = Dataset<float>::of(10, x);
  Trainer trainer(Net{}, Accumulate{Failing{}}, {.global_batch = 4});  // three steps an epoch; the fourth fails
  EXPECT_EQ(error_of<NonFiniteError>([&] {
              trainer.fit(data, {.epochs = 9, .patience = 2, .monitor = [](const EpochRecord& e) { return -e.epoch; }});
            }),
            "fit: element 0 of parameter 'weight' is not a number within epoch 2");
  EXPECT_EQ(trainer.parameters()["weight"].values[0], 3) << "of the first epoch";
}

TEST(HopelessFit, IsNoneWhereAWindowMakesAStep) {
  using Net = Compiled<Lost, Inputs<f32[2]>>;
  std::vector<float> x(20, 1.0f);
  x[0] = -9;  // its logarithm is NaN
  Trainer trainer(Net{}, Accumulate{Sgd{.learning_rate = 0.1f}}, {.global_batch = 4});
  const float start[] = {1, 1};
  trainer.session().set_parameters(start);
  const History history = trainer.fit(Dataset<float>::of(10, x), {.epochs = 2});
  EXPECT_EQ(history.back().dropped_windows, 2);
  EXPECT_EQ(history.back().steps, 4);
}

}  // namespace hopeless_fit_test
