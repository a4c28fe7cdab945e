// Values of 16 bits: rounded op by op, summed over samples in float, with parameters that stay float; the bits of the
// reference and of every split, compiled and eagerly; half of the bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../expect_reference.hpp"
#include "../models.hpp"

namespace sixteen_bits_test {

using namespace models;

template <class E>
class SixteenBits : public testing::Test {};
using Formats = testing::Types<bf16, f16>;
TYPED_TEST_SUITE(SixteenBits, Formats);

/// Returns every finite number of 16 bits, the midpoints between neighbours, the floats beside the midpoints, and floats that
/// are too large or too small.
template <class E>
std::vector<float> hard_to_round() {
  std::vector<float> result = {0.0f, -0.0f, 65504, 65519.996f, 65520, -65520, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, -0x1p-26f};
  result.push_back(std::numeric_limits<float>::max());
  result.push_back(std::numeric_limits<float>::denorm_min());
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::uint32_t bits = 0; bits < 0x7fffu; ++bits) {
    E low, high;
    low.bits = static_cast<std::uint16_t>(bits);
    high.bits = static_cast<std::uint16_t>(bits + 1);
    const auto below = static_cast<float>(low), above = static_cast<float>(high);
    if (!(above < infinity)) break;
    const float middle = below / 2 + above / 2;
    for (const float x : {below, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, infinity)})
      result.push_back(bits % 2 == 0 ? x : -x);
  }
  return result;
}

/// The same numbers, rounded to both types.
struct Rounded {
  constexpr explicit Rounded(Scope) {}
  constexpr Var predict(Var x) const {
    return stack({convert(convert(x, DType::bf16), DType::f32), convert(convert(x, DType::f16), DType::f32)}, 1);
  }
  constexpr Loss loss(Var x) const { return sum(predict(x), {1}); }
};
using RoundedNet = Compiled<Rounded, Inputs<f32>>;

TYPED_TEST(SixteenBits, ConversionsRoundToTheNearest) {
  const std::vector<float> x = hard_to_round<TypeParam>();
  const auto count = static_cast<std::int64_t>(x.size());
  EagerTape tape(Device::cpu(), count);
  const Var small = convert(tape.input(x), dtype_of<TypeParam>), back = convert(small, DType::f32);
  const Tensor kept = value(small), wide = value(back);
  EXPECT_EQ(kept.values<TypeParam>().size_bytes(), 2 * x.size());
  std::vector<float> compiled(2 * x.size());
  Inference<RoundedNet>(std::span<const float>(), 64)(x, compiled);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const TypeParam expected(x[i]);
    ASSERT_EQ(kept.values<TypeParam>()[i].bits, expected.bits) << x[i];
    ASSERT_EQ(math::to_bits(wide.values<float>()[i]), math::to_bits(static_cast<float>(expected))) << x[i];
    ASSERT_EQ(math::to_bits(compiled[2 * i + std::is_same_v<TypeParam, f16>]), math::to_bits(static_cast<float>(expected)))
        << x[i];
  }
  expect_reference<float>(tape, "conversions");

  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EagerTape other(Device::cpu(), 3);
  const float given[] = {inf, -inf, nan};
  const Tensor special = value(convert(other.input(given), dtype_of<TypeParam>));
  EXPECT_TRUE(special[0] == inf && special[1] == -inf && std::isnan(special[2]));
}

TYPED_TEST(SixteenBits, EachOpRoundsItsResultAndNothingElse) {
  using E = TypeParam;
  const auto a = numbers_in<E>(1000), b = numbers_in<E>(1000, 2);
  EagerTape tape(Device::cpu(), 10);
  const Var x = tape.input(a, {100}), y = tape.input(b, {100});
  const Tensor sum_of_product = value(x * y + x), scaled = value(0.3 * exp(x)), total = value(sum(x * x, {1}));
  const auto wide = [](E e) { return static_cast<float>(e); };
  for (std::size_t i = 0; i < 1000; ++i) {
    const float product = wide(E(wide(a[i]) * wide(b[i])));
    ASSERT_EQ(sum_of_product.values<E>()[i].bits, E(product + wide(a[i])).bits) << i;
    ASSERT_EQ(scaled.values<E>()[i].bits, E(wide(E(0.3f)) * wide(E(math::exp(wide(a[i]))))).bits) << i;
  }
  for (std::size_t row = 0; row < 10; ++row) {  // a sum of a hundred is rounded once
    double exact = 0;
    for (std::size_t i = row * 100; i < row * 100 + 100; ++i) exact += wide(E(wide(a[i]) * wide(a[i])));
    EXPECT_EQ(total.values<E>()[row].bits, E(static_cast<float>(exact)).bits);
  }
  const std::vector<E> large(4096, E(100));
  EagerTape rows(Device::cpu(), 1);
  EXPECT_EQ(value(mean(rows.input(large, {4096}), {1})).item(), 100);  // their sum is beyond what half can hold
  EXPECT_EQ(value(sum(softmax(rows.input(large, {4096})), {1})).item(), 1);
  expect_reference<float>(tape, "ops");
}

TYPED_TEST(SixteenBits, StepFunctionsAreExact) {
  using E = TypeParam;
  std::vector<E> all(0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
  EagerTape tape(Device::cpu(), std::ssize(all));
  const Var x = tape.input(all);
  const Tensor below = value(floor(x)), nearest = value(round(x)), signs = value(sign(x));
  const auto same = [](E got, float exact) {
    return std::isnan(exact) ? std::isnan(static_cast<float>(got)) : got.bits == E(exact).bits;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto wide = static_cast<float>(all[i]);
    ASSERT_TRUE(same(below.values<E>()[i], std::floor(wide))) << wide;
    ASSERT_TRUE(same(nearest.values<E>()[i], std::nearbyint(wide))) << wide;
    ASSERT_TRUE(same(signs.values<E>()[i], wide == 0 || std::isnan(wide) ? wide : std::copysign(1.0f, wide))) << wide;
  }
}

TYPED_TEST(SixteenBits, OpsRunEagerlyAsInTheReference) {
  using E = TypeParam;
  EagerTape tape(Device::cpu(), 5);
  const auto images = numbers_in<E>(5 * 2 * 6 * 6);
  const auto weights = [&](const Shape& shape, unsigned seed) {
    return tape.input(Tensor::from(Device::cpu(), std::span<const E>(numbers_in<E>(shape.unit(), seed)), shape));
  };
  const Var x = tape.input(images, {2, 6, 6}), w = weights({3, 2, 3, 3}, 3), each = weights({3, 1, 3, 3}, 4);
  const Var convolved = conv2d(tanh(conv2d(x, w, {.padding = 1})), each, {.padding = 1, .groups = 3});
  const Var pooled = max_pool2d(convolved, 2);
  const Var rows = reshape(pooled, Shape::per_sample({3, 9}));
  const Var product = matmul(rows, rows, false, true), shifted = pad(slice(product, 1, 1, 2), 2, 1, 0, 0.1);
  const Var chosen = where(argmax(shifted) == 1.0, sum(shifted, {2}), max(shifted, {2}));
  const Var y = logsumexp(transpose(dropout(chosen + variance(shifted, {2}), 0.3), {0, 1}));
  const std::vector<Var> gradient = gradients(y, {x, w, each, rows});
  EXPECT_EQ(gradient[0].dtype(), dtype_of<E>);
  EXPECT_EQ(gradient[1].dtype(), DType::f32);  // a sum over samples
  const std::vector<Var> second = gradients(sum(gradient[1] * gradient[1], {0, 1, 2, 3}), {x, w, each});
  EXPECT_EQ(second[0].dtype(), dtype_of<E>);
  expect_reference<float>(tape, "ops and their derivatives");
}

template <class Net, class... Span>
std::vector<std::byte> trained(const std::vector<std::size_t>& split, int threads, Span... data) {
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 512, .seed = 7, .threads = threads});
  EXPECT_EQ(session.allocated_bytes(), session.memory().total());
  for (int step = 0; step < 3; ++step)
    for (std::size_t at = 0; std::size_t part : split) {
      const auto some = [&](auto span) {
        const std::size_t width = span.size() / 512;
        return span.subspan(at * width, part * width);
      };
      session.accumulate(some(data)...);
      at += part;
    }
  EXPECT_EQ(session.step_count(), 3);
  std::vector<std::byte> bytes(session.parameter_bytes().begin(), session.parameter_bytes().end());
  bytes.insert(bytes.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
  return bytes;
}

TEST(SixteenBit, NetsEndInTheBitsOfTheReferenceAndOfEverySplit) {  // case 1
  using Net = NarrowNet<bf16>;
  const auto image = numbers_in<bf16>(512 * 16);
  const auto token = labels(512, 7), label = labels(512, 3);
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 5120, .micro_batch = 512, .seed = 7});
  std::vector<std::vector<float>> parameters;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const auto values = session.parameters()[p].values;
    parameters.emplace_back(values.begin(), values.end());
  }
  session.accumulate(image, token, label);
  session.flush();
  const Tape tape = Net::Training::trace();
  const std::vector<std::vector<float>> data = {
      {image.begin(), image.end()}, {token.begin(), token.end()}, {label.begin(), label.end()}};
  const Reference<float> reference(tape, 512, data, parameters, {512}, {.on = true, .seed = 7});
  for (int p = 0; p < Net::parameter_count; ++p)
    for (std::size_t i = 0; i < parameters[static_cast<std::size_t>(p)].size(); ++i)
      ASSERT_EQ(math::to_bits(reference.root(Role::gradient, p)[i]),
                math::to_bits(session.accumulator()[static_cast<std::size_t>(Net::parameter_offset(p)) + i])) << p << ", " << i;

  const auto with = [&](const std::vector<std::size_t>& split, int threads = 1) {
    return trained<Net>(split, threads, std::span(image), std::span(token), std::span(label));
  };
  const auto whole = with({512});
  EXPECT_EQ(differing_bits(whole, with(std::vector<std::size_t>(8, 64))), 0);
  EXPECT_EQ(differing_bits(whole, with({7, 100, 1, 300, 104})), 0);
  EXPECT_EQ(differing_bits(whole, with({512}, 2)), 0);
}

/// Returns the gradients of the classifier's trace, computed in the type of its inputs.
template <class E>
std::vector<float> gradient_of_classifier() {
  const Tape tape = trace_training<Classifier>(Inputs<E[9], i32>{});
  const auto x = numbers_in<E>(64 * 9);
  const auto y = labels(64, 5);
  std::vector<std::vector<float>> parameters;
  for (const ParameterInfo& info : tape.parameters)
    parameters.push_back(numbers(static_cast<std::size_t>(info.shape.unit()), 5));
  const Reference<float> step(tape, 64, {std::vector<float>(x.begin(), x.end()), {y.begin(), y.end()}}, parameters);
  std::vector<float> all;
  for (int p = 0; p < 4; ++p) all.insert(all.end(), step.root(Role::gradient, p).begin(), step.root(Role::gradient, p).end());
  return all;
}

TYPED_TEST(SixteenBits, GradientsAreThoseOfFloatButForRounding) {
  const auto wide = gradient_of_classifier<float>(), narrow = gradient_of_classifier<TypeParam>();
  double off = 0, size = 0;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    off += std::pow(static_cast<double>(wide[i] - narrow[i]), 2);
    size += std::pow(static_cast<double>(wide[i]), 2);
  }
  const double unit = std::is_same_v<TypeParam, bf16> ? 0x1p-8 : 0x1p-11;
  EXPECT_LT(std::sqrt(off / size), 4 * unit);
  EXPECT_GT(std::sqrt(off / size), unit / 16);  // it was computed in 16 bits
}

/// The gradient is the sum of the inputs.
struct Line {
  Parameter weight;
  constexpr explicit Line(Scope s) : weight(s.parameter("weight", Shape{2}, init::constant(0.5))) {}
  constexpr Loss loss(Var x) const { return sum(x * weight, {-1}); }
};
template <class E>
using LineNet = Compiled<Line, Inputs<E[2]>>;

template <class E>
auto line_session(const LossScaling& scaling, std::int64_t window) {
  constexpr Sgd rule{.learning_rate = 0.25f, .momentum = 0.9f};
  return Session(LineNet<E>{}, Accumulate{LossScale{rule, scaling}}, {.global_batch = window});
}

TYPED_TEST(SixteenBits, SumsOfOnesDoNotStop) {  // case 5
  for (const auto count : {1024u, 4096u}) {
    auto session = line_session<TypeParam>({.start = 1}, count);
    session.accumulate(std::vector<TypeParam>(2 * count, TypeParam(1)));
    EXPECT_EQ(session.step_count(), 1);
    EXPECT_EQ(session.accumulator()[0], static_cast<float>(count));
    EXPECT_EQ(session.parameters()["weight"].values[1], 0.25f);
  }
}

TEST(LossScaleOfHalf, AnOverflowInBackwardHalvesIt) {  // case 33
  const std::vector<f16> x = {f16(0.25f), f16(-1.5f), f16(1.75f), f16(0.125f)};
  auto session = line_session<f16>({}, 2);
  const std::vector<std::byte> before(session.parameter_bytes().begin(), session.parameter_bytes().end());
  EXPECT_EQ(session.loss_scale(), 65536);
  EXPECT_EQ(session.accumulate(x), 0);  // an adjoint of 65536 is beyond half
  EXPECT_EQ(session.loss_scale(), 32768);
  EXPECT_EQ(session.step_count(), 0);
  EXPECT_EQ(session.dropped_windows(), 1);
  EXPECT_EQ(differing_bits(before, session.parameter_bytes()), 0);
  EXPECT_EQ(session.accumulate(x), 1);
  EXPECT_EQ(session.parameters()["weight"].values[0], 0.5f - 0.25f * (0.25f + 1.75f) / 2);
}

struct Deep {
  nn::Linear a, b, c, output;
  constexpr explicit Deep(Scope s)
      : a(s / "a", 64, 128), b(s / "b", 128, 128), c(s / "c", 128, 128), output(s / "output", 128, 10) {}
  constexpr Loss loss(Var x, Var label) const { return cross_entropy(output(relu(c(relu(b(relu(a(x))))))), label); }
};
template <class E>
constexpr MemoryTable memory_in = Compiled<Deep, Inputs<E[64], i32>>::training_memory(Accumulate{Adam{}}, 512,
                                                                                      {.gather = true});
constexpr MemoryTable in_float = memory_in<float>, in_bf16 = memory_in<bf16>;
static_assert(in_bf16.activations < 0.55 * in_float.activations);
static_assert(in_bf16.inputs - 512 * 4 == (in_float.inputs - 512 * 4) / 2);  // labels stay as they are
static_assert(in_bf16.parameters == in_float.parameters && in_bf16.gradients == in_float.gradients &&
              in_bf16.open_blocks == in_float.open_blocks && in_bf16.optimizer_state == in_float.optimizer_state);
constexpr std::int64_t rounded_parameters = in_bf16.derived - in_float.derived;  // once a window
static_assert(rounded_parameters >= in_float.parameters / 2 && rounded_parameters < in_float.parameters / 2 + 8 * alignment);

TEST(SixteenBit, WhatDoesNotFitIsRefusedByName) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({4}), DType::bf16), y = input(tape, Shape::per_sample({4}), DType::f32);
  const auto refusal = [](auto record) {
    try {
      record();
      return std::string("accepted");
    } catch (const TypeError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal([&] { x + y; }), "add: unsupported operand types bf16 and float");
  EXPECT_EQ(refusal([&] { x * convert(x, DType::f16); }), "multiply: unsupported operand types bf16 and f16");
  EXPECT_EQ(refusal([&] { matmul(y, convert(input(tape, {4, 2}, DType::f32), DType::f16)); }),
            "matmul: unsupported operand types float and f16");
  EXPECT_EQ(refusal([&] { cross_entropy(y, sum(x, {1})); }), "cross_entropy: labels are int32 class indices, got bf16");
  EXPECT_EQ(refusal([&] { convert(x, DType::i32); }), "convert: bf16 cannot be converted to int32");
}

TEST(SixteenBit, SmallDifferencesOfLargeNumbersAreComputedInFloat) {
  const std::vector<float> of = {5, 10, 30};
  const double slopes[] = {-0.021332, -0.0055593, -0.00062584}, of_log[] = {5.18650, 10.0981, 30.0333};  // at −x
  for (const DType type : {DType::bf16, DType::f16}) {
    EagerTape tape(Device::cpu(), 3);
    const Var x = convert(tape.input(of), type);
    const Tensor by_x = value(convert(gradients(erfcx(x), {x})[0], DType::f32)),
                 by_y = value(convert(gradients(log_ndtr(-x), {x})[0], DType::f32)),
                 twice = value(convert(gradients(gradients(log_ndtr(-x), {x})[0], {x})[0], DType::f32));
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(by_x[i] / slopes[i], 1, 0.005) << name_of(type) << " " << of[static_cast<std::size_t>(i)];
      EXPECT_NEAR(by_y[i] / -of_log[i], 1, 0.005) << name_of(type) << " " << of[static_cast<std::size_t>(i)];
      EXPECT_NEAR(twice[i], -1, 0.05) << name_of(type) << " " << of[static_cast<std::size_t>(i)];
    }
  }
}

constexpr bool trains_in_constants() {
  const Tape tape = trace_training<Line>(Inputs<bf16[2]>{});
  const Reference<float> step(tape, 2, {{1, 3, 1, 0x1.02p0f}}, {{0x1.01p0f, 0.5f}}, {2});
  // 1 + 2⁻⁸ lies between two bf16: the even one is 1; 1.5 is both products' sum, and 3 + 1.0078125 is kept as a float
  return step.root(Role::loss)[0] == 2.5f && step.root(Role::gradient, 0)[1] == 4.0078125f;
}
static_assert(trains_in_constants());

}  // namespace sixteen_bits_test
