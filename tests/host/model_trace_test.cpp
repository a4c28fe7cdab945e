// What the compiler makes of a model: names, phases, kernels, sizes.
#include <gtest/gtest.h>

#include "../models.hpp"

using namespace models;

namespace {

struct TwoLayers {
  nn::Sequential<nn::Linear, nn::Linear> layers;
  constexpr explicit TwoLayers(Scope s) : layers(nn::Linear(s / "first", 3, 5), nn::Linear(s / "second", 5, 2)) {}
  constexpr Loss loss(Var x, Var y) const {
    Var error = layers(x) - y;
    return {mean(error * error, {-1})};
  }
};
using TwoLayersNet = Compiled<TwoLayers, Inputs<f32[3], f32[2]>>;

constexpr bool names_are_paths() {
  return TwoLayersNet::parameter_count == 4 && TwoLayersNet::parameter(0).name.view() == "first/weight" &&
         TwoLayersNet::parameter(3).name.view() == "second/bias" && TwoLayersNet::parameter_elements == 3 * 5 + 5 + 5 * 2 + 2;
}
static_assert(names_are_paths());
TEST(Trace, ParametersAreNamedByTheirPath) { EXPECT_TRUE(names_are_paths()); }

constexpr bool every_parameter_has_a_gradient() {
  for (int p = 0; p < TwoLayersNet::parameter_count; ++p)
    if (TwoLayersNet::Training::root(Role::gradient, p) < 0) return false;
  return true;
}
static_assert(every_parameter_has_a_gradient());
TEST(Trace, EveryParameterHasAGradient) { EXPECT_TRUE(every_parameter_has_a_gradient()); }

/// Kernels of a phase in the classifier: fusing less would raise these counts.
template <class P>
constexpr int kernels(Phase phase) {
  int count = 0;
  for (int g = 0; g < P::schedule.group_count; ++g) count += P::schedule.groups[g].phase == phase;
  return count;
}
TEST(Fusion, AClassifierStepIsAFewKernels) {
  static_assert(kernels<ClassifierNet::Training>(Phase::forward) <= 6);
  static_assert(kernels<ClassifierNet::Training>(Phase::backward) <= 6);
  static_assert(kernels<ClassifierNet::Training>(Phase::boundary) == 0);
  EXPECT_EQ(kernels<ClassifierNet::Training>(Phase::prologue), 0);
}
TEST(Fusion, AnUpdateIsOneLoopOverTheParametersAndOneOverItsNumbers) {
  EXPECT_EQ(kernels<ClassifierNet::UpdateOf<Adam>>(Phase::boundary), 2);
  EXPECT_EQ(ClassifierNet::UpdateOf<Sgd>::plan.bytes(1) < 4 * ClassifierNet::parameter_elements, true);
}

TEST(Plan, BytesAreMonotoneInTheBatchAndCloseToTheLowerBoundFrom64) {
  using P = ClassifierNet::Training;
  for (std::int64_t batch = 1; batch < 300; ++batch) {
    EXPECT_LE(P::plan.bytes(batch), P::plan.bytes(batch + 1));
    EXPECT_GE(P::plan.bytes(batch), P::plan.lower_bound(batch));
    if (batch < 64) continue;
    EXPECT_LE(static_cast<double>(P::plan.bytes(batch)), 1.15 * static_cast<double>(P::plan.lower_bound(batch))) << batch;
  }
}

TEST(Trace, MistakesAreTypedErrorsAtRunTimeWithLayerAndNumbers) {
  Tape tape;
  const nn::Linear layer(Scope(tape.parameters) / "output", 500, 10);
  Var x = input(tape, Shape::per_sample({512}), DType::f32);
  try {
    layer(x);
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "matmul: left operand has 512 columns, right operand has 500 rows (in layer 'output')");
  }
}

struct WithScalar {
  constexpr explicit WithScalar(Scope) {}
  constexpr Var predict(Var x) const { return Scalar(2) * x; }
  constexpr Loss loss(Var x) const { return {sum(predict(x), {-1})}; }
};

TEST(Trace, AScalarInAModelIsRefused) {  // no session would give it its value
  EXPECT_THROW(trace_training<WithScalar>(Inputs<f32[2]>{}), ShapeError);
  EXPECT_THROW(trace_inference<WithScalar>(Inputs<f32[2]>{}), ShapeError);
}

TEST(Trace, AParameterDeclaredTwiceIsRefusedByName) {
  std::vector<ParameterInfo> declared;
  Scope scope(declared);
  scope.parameter("p", Shape{1}, init::zeros());
  EXPECT_THROW(scope.parameter("p", Shape{1}, init::zeros()), ShapeError);
}

}  // namespace
