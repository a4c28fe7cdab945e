// The trace of a model at compile time: names, phases, kernels, sizes.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "../error_of.hpp"
#include "../models.hpp"

namespace model_trace_test {

using namespace models;

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

/// Counts the kernels of each phase in the classifier: fusing less would raise these counts.
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
  EXPECT_EQ(kernels<ClassifierNet::UpdateOf<Adam>>(Phase::prologue), 1);
  EXPECT_EQ(kernels<ClassifierNet::UpdateOf<Adam>>(Phase::forward), 1);
  EXPECT_EQ(ClassifierNet::UpdateOf<Adam>::schedule.group_count, 2);
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

void expect_error(const std::string& text, const std::function<void()>& call) { EXPECT_EQ(error_of<Error>(call), text); }

TEST(Trace, WhatDoesNotFitIsRefusedByNameAndRecordsNothing) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32), one = input(tape, Shape::per_sample({1}), DType::f32);
  const Var matrix = input(tape, {2, 3}, DType::f32);
  expect_error("broadcast: shape [batch, 3] cannot be repeated to [batch, 4]",
               [&] { broadcast(x, Shape::per_sample({4})); });
  expect_error("broadcast: shape [batch, 1] cannot be repeated to [2, 1]", [&] { broadcast(one, {2, 1}); });
  expect_error("broadcast: shape [batch, 1] cannot be repeated to [batch]",
               [&] { broadcast(one, Shape::per_sample({})); });
  expect_error("broadcast: shape [2, 3] cannot be repeated to [3]", [&] { broadcast(matrix, {3}); });
  expect_error("iota: axis 9 does not fit shape [batch, 3]", [&] { iota(x, 9); });
  expect_error("iota: axis -3 does not fit shape [2, 3]", [&] { iota(matrix, -3); });
  expect_error("iota: the index along the sample axis of [batch, 3] depends on the micro-batch", [&] { iota(x, -2); });
  expect_error("sum: axis 1 is given twice for shape [2, 3]", [&] { sum(matrix, {1, 1}); });
  expect_error("sum: axis 2 does not fit shape [2, 3]", [&] { sum(matrix, {2}); });
  for (const double delta : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    expect_error("huber: delta is not above 0", [&] { huber(x, x, delta); });
  for (const double weight : {-0.5, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    expect_error("bce_with_logits: pos_weight is negative or not finite", [&] { bce_with_logits(x, x, weight); });
  EXPECT_EQ(tape.size(), 3);
  const int index = iota(matrix, -1).id;
  EXPECT_EQ(tape[index].attributes.integer[0], 1);
}

constexpr bool asks_what_failed() {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({4}), DType::f32), y = input(tape, Shape::per_sample({5}), DType::f32);
  const Var failed = x + y;  // thrown at run time
  const Message why = tape.error;
  const Var made = reshape(failed, Shape::per_sample({failed.shape().unit()})) + convert(x == x, failed.dtype());
  return !why.empty() && !made.valid() && failed.attributes().number == 0 && tape.error.view() == why.view();
}
TEST(Trace, WhatFailedCanBeAskedAndTheFirstErrorStays) { static_assert(asks_what_failed()); }

TEST(Trace, OperandsThatDoNotMeetAreRefusedWithTheirLayer) {
  Tape tape;
  const nn::Linear layer(Scope(tape.parameters) / "hidden", 4, 1);
  const nn::Gru gru(Scope(tape.parameters) / "gru", 4, 2);
  const Parameter weight = Scope(tape.parameters).parameter("other/weight", Shape{3, 5}, init::constant(0));
  const Var x = input(tape, Shape::per_sample({4}), DType::f32), y = input(tape, Shape::per_sample({}), DType::f32);
  const Var w = weight.on(x), score = layer(x);
  expect_error("subtract: shapes [batch, 1] and [batch] would pair each sample with every other: reshape one of them "
               "(after layer 'hidden')", [&] { score - y; });
  expect_error("multiply: shapes [batch, 4] and [batch] do not broadcast at axis 1, the sample axis of only one: reshape that "
               "one, or keep the axes that were summed", [&] { x * y; });
  expect_error("add: shapes [batch, 4] and [3, 5] do not broadcast at axis 0 (in layer 'other')", [&] { x + w; });
  expect_error("reshape: [batch, 4] to [2, 2]: only one has a sample axis, which Shape::per_sample({...}) gives the other",
               [&] { reshape(x, {2, 2}); });
  expect_error("reshape: [3, 5] to [batch, 15]: only one has a sample axis (in layer 'other')",
               [&] { reshape(w, Shape::per_sample({15})); });
  expect_error("reshape: [batch, 4] does not have as many elements as [5]", [&] { reshape(x, {5}); });
  expect_error("add: shapes [batch, 1] and [3, 5] do not broadcast at axis 0 (in layer 'other')", [&] { score + w; });
  expect_error("matmul: of [3, 5] and [batch, 4], one would sum over its sample axis (in layer 'other')",
               [&] { matmul(w, x); });
  const Var column = input(tape, Shape::per_sample({5, 1}), DType::f32);
  expect_error("matmul: stacks [3, 5] and [batch, 5, 1] do not match: broadcast(it, Shape::per_sample({...})) gives one to "
               "each sample (in layer 'other')", [&] { matmul(w, column); });
  const Var stack = reshape(column, Shape::per_sample({1, 5, 1})), wide = input(tape, Shape::per_sample({3, 2, 5}), DType::f32);
  expect_error("matmul: stacks [batch, 3, 2, 5] and [batch, 1, 5, 1] do not match: broadcast(it, shape) repeats a stack of one",
               [&] { matmul(wide, stack); });
  expect_error("matmul: products of [batch, 4] with other samples of [batch, 4] couple the samples of a batch: what each is "
               "compared with must be an input of its own", [&] { matmul(x, x, false, true); });
  expect_error("gru: needs [batch, steps, in], got [batch, 4]", [&] { gru(x); });
  expect_error("argmin: argmax: reducing the sample axis of [batch, 4] couples the samples of a batch", [&] { argmin(x, 0); });
  expect_error("mean: sum: reducing the sample axis of [batch] couples the samples of a batch: a loss is one value per sample, "
               "the library takes the mean; samples to be compared must form one sample", [&] { mean(y, {0}); });
  const Var image = input(tape, Shape::per_sample({2, 2}), DType::f32);
  expect_error("matmul: left operand has 2 columns, right operand has 4 rows, as many as a sample of [batch, 2, 2] has "
               "values: flatten it (in layer 'hidden')", [&] { layer(image); });
}

TEST(Trace, IntegersAreComparedWithIntegersAndNotReduced) {
  Tape tape;
  const Var index = input(tape, Shape::per_sample({3}), DType::i32), x = input(tape, Shape::per_sample({3}), DType::f32);
  const Var wide = input(tape, Shape::per_sample({3}), DType::f64);
  for (const double number : {2.5, -0.5, 0x1p31, -0x1p31 - 1, std::numeric_limits<double>::quiet_NaN()})
    expect_error("a number that is not an int32 is combined with integers: convert them to float first",
                 [&] { index < number; });
  EXPECT_TRUE((index >= -0x1p31).valid());
  expect_error("add: integer operands can only be compared, not computed with: convert them to float first; compute indices in "
               "the data", [&] { index + 100.0; });
  expect_error("sum: integers cannot be reduced: convert them to float first", [&] { sum(index, {1}); });
  expect_error("argmax: integers cannot be reduced: convert them to float first", [&] { argmax(index); });
  expect_error("clamp: unsupported operand types int32 and float: convert integers to float first",
               [&] { clamp(index, x, x); });
  expect_error("mse: prediction [batch, 1], target [batch]; an input declared as f32[1] is [batch, 1]",
               [&] { mse(slice(x, 1, 0, 1), input(tape, Shape::per_sample({}), DType::f32)); });
  expect_error("bce_with_logits: target is int32: use convert(target, DType::f32)", [&] { bce_with_logits(x, index); });
  expect_error("mse: prediction [batch, 3], target [batch, 1]; broadcast(target, prediction.shape()) repeats it",
               [&] { mse(x, slice(x, 1, 0, 1)); });
  expect_error("clamp: unsupported operand types double and float", [&] { clamp(wide, x, x); });
  EXPECT_TRUE(where(index, x, x).valid());
  EXPECT_EQ(sum(convert(index, DType::f32), {1}).dtype(), DType::f32);
  EXPECT_EQ(convert(index, DType::bf16).dtype(), DType::bf16);
}

TEST(Trace, ShapesOfMoreThanSixAxesAreRefused) {
  const Shape six{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(six.rank, 6);
  expect_error("a shape of 7 axes: at most 6 are possible", [] { Shape{1, 1, 1, 1, 1, 1, 3}; });
  expect_error("a shape of 7 axes: at most 6 are possible", [&] { Shape::per_sample(six); });
  EXPECT_EQ(detail::sample_shape<f32[2][3][4][5][6]>().rank, 5);
}

/// Reshapes to more elements than can be counted: an overflow would not be a constant expression.
constexpr bool refuses_a_shape_beyond_counting() {
  Tape tape;
  const std::int64_t huge = std::int64_t{1} << 62;
  reshape(input(tape, Shape::per_sample({4}), DType::f32), Shape::per_sample({huge, huge}));
  return tape.error.view().ends_with("is too large or has a negative extent");
}
static_assert(refuses_a_shape_beyond_counting());

TEST(Trace, LabelsAreAnInputsOrViewsOfIt) {
  Tape tape;
  const Var scores = input(tape, Shape::per_sample({2, 5}), DType::f32),
            label = input(tape, Shape::per_sample({2}), DType::i32);
  const Var apart = input(tape, Shape::per_sample({4}), DType::i32);
  cross_entropy(reshape(scores, Shape::per_sample({1, 2, 5})), reshape(label, Shape::per_sample({1, 2})));
  EXPECT_EQ(tape.label_ranges.at(0), (LabelRange{.input = 1, .count = 2, .period = 2, .classes = 5}));
  cross_entropy(scores, slice(apart, 1, 1, 2));
  EXPECT_EQ(tape.label_ranges.at(1), (LabelRange{.input = 2, .begin = 1, .count = 2, .period = 4, .classes = 5}));
  cross_entropy(scores, argmax(scores));  // always a class
  expect_error("cross_entropy: labels are computed by iota: take them from an input, which is checked before use",
               [&] { cross_entropy(scores, iota(label, 1)); });
  one_hot(apart, 3, -1);
  EXPECT_EQ(tape.label_ranges.at(2), (LabelRange{.input = 2, .count = 4, .period = 4, .classes = 3, .ignored = -1,
                                                 .of = LabelRange::Of::place}));
  EXPECT_EQ(one_hot(argmax(scores), 5).shape(), Shape::per_sample({2, 5}));
  expect_error("one_hot: indices are computed by argmax of 5 values: only 4 are valid", [&] { one_hot(argmax(scores), 4); });
  expect_error("one_hot: indices are int32, got float", [&] { one_hot(scores, 4); });
  expect_error("one_hot: an index [batch, 2] cannot be expanded to 0 places", [&] { one_hot(label, 0); });
  expect_error("one_hot: an index [batch, 2] cannot be expanded to 4 places: the ignored one must be outside",
               [&] { one_hot(label, 4, 3); });
  expect_error("one_hot: an index [batch, 1, 2, 1, 1, 1] cannot be expanded to 4 places",
               [&] { one_hot(reshape(label, Shape::per_sample({1, 2, 1, 1, 1})), 4); });
  expect_error("gather: needs a table [rows, width] or [batch, rows, width] and indices [batch, ...], got [batch, 2, 2, 5] and "
               "[batch, 2]; pick(scores, label) takes one number of each row",
               [&] { gather(stack({scores, scores}, 1), label); });
  const Var rows = gather(scores, apart, 4);
  EXPECT_EQ(rows.shape(), Shape::per_sample({4, 5}));
  EXPECT_EQ(scatter_add(rows, apart, 3, -1).shape(), Shape::per_sample({3, 5}));
  expect_error("gather: 1 cannot be ignored: it is one of the rows of [batch, 2, 5]", [&] { gather(scores, label, 1); });
  expect_error("gather: indices are computed by argmax of 5 values: only 2 are valid", [&] { gather(scores, argmax(scores)); });
  EXPECT_EQ(gather(scores, argmax(transpose(scores, {0, 2, 1}))).shape(), Shape::per_sample({5, 5}));
  EXPECT_EQ(scatter_add(scores, argmax(scores), 5).shape(), Shape::per_sample({5, 5}));
  expect_error("scatter_add: needs floats [batch, ..., width] and indices [batch, ...], got [batch, 2, 5] and [batch]",
               [&] { scatter_add(scores, select(label, 1, 0), 3); });
  expect_error("scatter_add: needs floats [batch, ..., width] and indices [batch, ...], got [batch, 2] and [batch]",
               [&] { scatter_add(label, select(label, 1, 0), 3); });
  expect_error("scatter_add: cannot sum in 3 rows: the ignored one must be outside", [&] { scatter_add(scores, label, 3, 2); });
  expect_error("scatter_add: cannot sum in 0 rows", [&] { scatter_add(scores, label, 0); });
  expect_error("scatter_add: indices are int32, got float", [&] { scatter_add(scores, select(scores, 2, 0), 3); });
  const Var table = input(tape, Shape{2, 3}, DType::f32);
  EXPECT_EQ(gather(table, argmax(transpose(scores, {0, 2, 1}))).shape(), Shape::per_sample({5, 3}));
  expect_error("gather: indices are computed by argmax of 5 values: only 2 are valid", [&] { gather(table, argmax(scores)); });
  expect_error("gather: indices are computed by iota: take them from an input, which is checked before use; to get all rows, "
               "use the table",
               [&] { gather(table, iota(label, 1)); });
}

TEST(Trace, AttentionNeedsPositions) {
  Tape tape;
  const nn::MultiHeadAttention attention(Scope(tape.parameters) / "attention", 8, 2);
  const Var x = input(tape, Shape::per_sample({8}), DType::f32);
  expect_error("attention: needs [batch, positions, width], got [batch, 8]", [&] { attention(x); });
}

TEST(Trace, AnOperandThatIsNoValueIsRefusedByTheOp) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32);
  expect_error("exp: an operand is an empty Var", [] { exp(Var{}); });
  expect_error("add: an operand is an empty Var", [&] { Var{} + x; });
  expect_error("multiply: an operand is an empty Var", [] { Var{} * 2.0; });
  expect_error("where: an operand is an empty Var", [&] { where(x, x, Var{}); });
  expect_error("sum: an operand is an empty Var", [] { sum(Var{}, {0}); });
  expect_error("matmul: an operand is an empty Var", [&] { matmul(x, Var{}); });
  expect_error("cross_entropy: an operand is an empty Var", [&] { cross_entropy(x, Var{}); });
  expect_error("softmax: an operand is an empty Var", [] { softmax(Var{}); });
  EXPECT_EQ(tape.size(), 1);
}

TEST(Trace, ErrorsInsideWhatIsMadeOfSeveralOpsNameItFirst) {
  Tape tape, other;
  const Var number = input(tape, Shape{}, DType::f32), x = input(tape, {2, 3}, DType::f32);
  const Var foreign = input(other, {2, 3}, DType::f32);
  expect_error("softmax: max: axis -1 does not fit shape []", [&] { softmax(number); });
  expect_error("standard_deviation: sum: axis 2 does not fit shape [2, 3]", [&] { standard_deviation(x, {2}); });
  expect_error("mean: sum: axis 2 does not fit shape [2, 3]", [&] { mean(x, {2}); });
  expect_error("concat: operands belong to different tapes", [&] { concat({x, foreign}); });
  expect_error("max: axis 2 does not fit shape [2, 3]", [&] { max(x, {2}); });  // not part of another function
}

constexpr bool the_compiler_is_told_first_errors() {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32);
  const Var wrong = broadcast(x, Shape::per_sample({4}));
  return !softmax(wrong + x).valid() &&
         tape.error.view() == "broadcast: shape [batch, 3] cannot be repeated to [batch, 4]";
}
static_assert(the_compiler_is_told_first_errors());

struct WithScalar {
  constexpr explicit WithScalar(Scope) {}
  constexpr Var predict(Var x) const { return Scalar(2) * x; }
  constexpr Loss loss(Var x) const { return {sum(predict(x), {-1})}; }
};

template <DType Inside, DType Given>
struct ComputesIn {
  Parameter weight;
  constexpr explicit ComputesIn(Scope s) : weight((s / "layer").parameter("weight", Shape{2}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    return convert(sum(convert(weight.on(x), Inside) * convert(x, Inside), {1}), Given);
  }
};

struct DerivativesInDouble {
  Parameter weight;
  constexpr explicit DerivativesInDouble(Scope s) : weight(s.parameter("weight", Shape{2}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var wide = convert(x, DType::f64);
    const Var curved = hessian_vector(sum(wide * wide * wide, {1}), {wide}, {stop_gradient(wide)})[0];
    return sum(convert(curved, DType::f32) * weight, {1});
  }
};
static_assert(trace_training<DerivativesInDouble>(Inputs<f32[2]>{}).error.empty());

constexpr bool the_compiler_is_told_why_of_derivatives() {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({2}), DType::f32), w = exp(input(tape, Shape{2}, DType::f32));
  return !hessian_vector(x * w, {w}, {stop_gradient(w)})[0].valid() &&
         tape.error.view().starts_with("gradients: those of samples with respect to a value");
}
static_assert(the_compiler_is_told_why_of_derivatives());

TEST(Trace, SumsOfGradientsInAnotherTypeAreRefused) {  // their bytes are those of the shadows
  EXPECT_EQ(error_of<TypeError>([] { trace_training<ComputesIn<DType::f64, DType::f32>>(Inputs<f32[2]>{}); }),
            "a parameter is combined with values of double (after layer 'layer'): a net with an input of double computes in "
            "double, others in float, bf16 or f16; Accumulate::in<double>() sums floats in double");
  EXPECT_EQ(error_of<TypeError>([] { trace_training<ComputesIn<DType::f32, DType::f64>>(Inputs<f64[2]>{}); }),
            "a parameter is combined with values of float (after layer 'layer'): a net with an input of double computes in "
            "double, others in float, bf16 or f16; Accumulate::in<double>() sums floats in double");
}

TEST(Trace, AScalarInAModelIsRefused) {  // no session would give it its value
  EXPECT_THROW(trace_training<WithScalar>(Inputs<f32[2]>{}), ShapeError);
  EXPECT_THROW(trace_inference<WithScalar>(Inputs<f32[2]>{}), ShapeError);
}

/// Two layers; the name and sizes of the second can be invalid.
template <bool SameName, int In, int Out>
struct WrongLayers {
  nn::Linear first, second;
  constexpr explicit WrongLayers(Scope s) : first(s / "a", 3, 4), second(s / (SameName ? "a" : "b"), In, Out) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(second(first(x)), label)}; }
};
template <bool SameName, int In, int Out>
constexpr bool is_refused(std::string_view text) {  // at compile time, the tape keeps errors that are otherwise thrown
  return trace_training<WrongLayers<SameName, In, Out>>(Inputs<f32[3], i32>{}).error.view() == text;
}
static_assert(is_refused<false, 4, 5>(""));
static_assert(is_refused<true, 4, 5>("parameter 'a/weight': declared twice"));
static_assert(is_refused<false, 4, 0>("parameter 'b/weight': shape [4, 0] has an extent below 1"));
static_assert(is_refused<false, 0, 5>("parameter 'b/weight': shape [0, 5] has an extent below 1"));
static_assert(is_refused<false, 4, -4>("parameter 'b/weight': shape [4, -4] has an extent below 1"));

TEST(Trace, AParameterThatCannotBeIsRefusedByName) {
  std::vector<ParameterInfo> declared;
  const Scope scope(declared);
  scope.parameter("p", Shape{1}, init::zeros());
  expect_error("parameter 'p': declared twice", [&] { scope.parameter("p", Shape{1}, init::zeros()); });
  expect_error("parameter 'a/weight': shape [3, 0] has an extent below 1", [&] { nn::Linear(scope / "a", 3, 0); });
  expect_error("parameter 'a/weight': shape [-1, 3] has an extent below 1", [&] { nn::Linear(scope / "a", -1, 3); });
  expect_error("parameter 'a/weight': shape [2, 0, 3, 3] has an extent below 1",
               [&] { nn::Conv2d(scope / "a", 0, 2, 3); });
  expect_error("parameter 'a//weight': a name with an empty part", [&] { nn::Linear(scope / "a" / "", 3, 4); });
  expect_error("parameter 'a/': a name with an empty part", [&] { (scope / "a").parameter("", Shape{1}, init::zeros()); });
  const std::string longest(79, 'p');
  expect_error("parameter '" + longest + "': a name of more than 78 characters",
               [&] { scope.parameter(longest + "p", Shape{1}, init::zeros()); });
  EXPECT_EQ(declared.size(), 1u);
}

/// Labels that are both indices of a table's rows and classes.
TEST(Trace, TheSmallerNumberOfLabelsIsKnownForWhatItIs) {
  for (const std::int64_t rows : {4, 6}) {
    Tape tape;
    const Var label = input(tape, Shape::per_sample({}), DType::i32);
    const Var scores = input(tape, Shape::per_sample({5}), DType::f32), table = input(tape, {rows, 5}, DType::f32);
    cross_entropy(scores + gather(table, label), label);
    const std::int32_t least = rows == 4 ? 4 : 5;
    EXPECT_EQ(error_of<DataError>([&] {
                gradual::detail::validate_values(std::span(&least, 1), std::span<const LabelRange>(tape.label_ranges), 1, 0);
              }),
              rows == 4 ? "input 0, sample 0: index 4 is outside the table's 4 rows 0 to 3"
                        : "input 0, sample 0: label 5 is outside the 5 classes 0 to 4");
  }
}

}  // namespace model_trace_test
