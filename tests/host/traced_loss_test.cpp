// What a model may return to the host: its loss, metrics, weights and predictions.
#include <gtest/gtest.h>

#include <functional>

#include <gradual/gradual.hpp>

#include "../error_of.hpp"

namespace traced_loss_test {

using namespace gradual;

void expect_error(const std::string& text, const std::function<void()>& call) { EXPECT_EQ(error_of<Error>(call), text); }

struct Predicts {
  DType what;
  constexpr explicit Predicts(Scope) {}
  constexpr Var predict(Var x) const { return argmax(x); }
};

TEST(TracedLoss, WhatTheHostReadsIsFloat) {
  const auto traced = [](auto of) {
    Tape tape;
    const Var x = input(tape, Shape::per_sample({3}), DType::f32);
    record_loss(tape, of(x));
  };
  EXPECT_EQ(error_of<TypeError>([&] { traced([](Var x) { return Loss(argmax(x)); }); }),
            "loss: needs float values, got int32; `convert` makes floats of them");
  EXPECT_EQ(error_of<TypeError>([&] { traced([](Var x) { return Loss(convert(sum(x, {-1}), DType::f64)); }); }),
            "loss: needs float values, got double");
  EXPECT_EQ(error_of<TypeError>([&] { traced([](Var x) {
                                        return Loss{sum(x, {-1}), metric("class", argmax(x))};
                                      }); }),
            "metric: needs float values, got int32; `convert` makes floats of them");
  EXPECT_EQ(error_of<TypeError>([&] { traced([](Var x) { return Loss(sum(x, {-1})).weighted_by(argmax(x)); }); }),
            "weight: needs float values, got int32; `convert` makes floats of them");
  EXPECT_EQ(error_of<TypeError>([] { trace_inference<Predicts>(Inputs<f32[3]>{}); }),
            "predict: needs float values, got int32; `convert` makes floats of them");
}

struct Measured {
  constexpr explicit Measured(Scope) {}
  constexpr Loss loss(Var x) const {
    const Var value = sum(x, {-1});
    return {value, metric("first", value), metric("second", value * 2.0)};
  }
};
using MeasuredNet = Compiled<Measured, Inputs<f32[3]>>;
static_assert(MeasuredNet::metric("first") == 0 && MeasuredNet::metric("second") == 1);
static_assert(MeasuredNet::metric_names.find("third") == -1 && MeasuredNet::metric_names.all().size() == 2);

struct NamedMetrics {
  std::string first, second;
  Loss loss(Var x) const { return {mean(x, {-1}), metric(first, x), metric(second, x)}; }
};
TEST(TracedLoss, MetricsHaveNamesOfTheirOwn) {
  const auto loss_of = [](const NamedMetrics& model) {
    Tape tape;
    model.loss(input(tape, Shape::per_sample({2}), DType::f32));
  };
  loss_of({"a", "b"});
  expect_error("two metrics are named 'a'", [&] { loss_of({"a", "a"}); });
  const std::string longest(78, 'm');
  loss_of({"a", longest});
  expect_error("metric '" + longest + "m': a name of more than 78 characters", [&] { loss_of({"a", longest + "mm"}); });
}

TEST(TracedLoss, MetricsOfAnotherShapeAreToldWhatMakesItTheLosss) {
  const auto recorded = [](Var (*of)(Var)) {
    Tape tape;
    const Var x = input(tape, Shape::per_sample({2}), DType::f32);
    record_loss(tape, Loss(mean_per_sample(x), metric("m", of(x))));
  };
  constexpr Var (*size)(Var) = [](Var x) { return norm(input(*x.tape, Shape{3}, DType::f32), {0}); };
  expect_error("metric 'm': shape [] is not the loss's [batch]; broadcast(it, Shape::per_sample({})) makes it so",
               [&] { recorded(size); });
  expect_error("metric 'm': shape [batch, 2] is not the loss's [batch]; mean_per_sample makes it so",
               [&] { recorded([](Var x) { return x; }); });
  recorded([](Var x) { return broadcast(size(x), Shape::per_sample({})); });
}

TEST(TracedLoss, WeightsOfSamplesAreToldWhatMakesThemTheLosss) {
  const auto recorded = [](Var (*of)(Var, Var)) {
    Tape tape;
    const Var loss = square(input(tape, Shape::per_sample({2}), DType::f32)), it = input(tape, Shape::per_sample({}), DType::f32);
    record_loss(tape, Loss(loss, metric("m", loss)).weighted_by(of(loss, it)));
  };
  expect_error("weight: shape [batch] is not the loss's [batch, 2]; broadcast(reshape(it, Shape::per_sample({1})), loss.shape()) "
               "makes it so",
               [&] { recorded([](Var, Var it) { return it; }); });
  expect_error("weight: shape [batch, 2] is not the loss's [batch]; a loss that is not yet a mean, such as "
               "square(y - target) or softplus(s) - y * s, has such weights",
               [] {
                 Tape tape;
                 const Var x = input(tape, Shape::per_sample({2}), DType::f32);
                 record_loss(tape, Loss(mse(x, x)).weighted_by(x > 0.0));
               });
  recorded([](Var loss, Var it) { return broadcast(reshape(it, Shape::per_sample({1})), loss.shape()); });
}

}  // namespace traced_loss_test
