// Kinks and singularities: values and gradients, cases 17 to 25 and 30 of the hard cases, by the reference, and eagerly to
// its bits. Cases of a single element are in the ops' own rows (`specials`), which the first test runs; the other tests
// cover what rows cannot express.
#include <gtest/gtest.h>

#if !defined(__aarch64__)
#include <xmmintrin.h>
#endif

#include <cfenv>
#include <cmath>
#include <cstdio>
#include <limits>

#include <gradual/autodiff/trace.hpp>
#include <gradual/check/special_values.hpp>

#include "../error_of.hpp"
#include "../expect_reference.hpp"

namespace special_values_test {

using namespace gradual;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using Values = std::vector<double>;
using gradual::op_checks::Function;

struct Result {
  Values value;
  std::vector<Values> gradient;
};

/// Returns f at vectors of numbers, and the gradients of `upstream` times the sum of its values.
template <class T>
Result run(const Function& f, const std::vector<Values>& at, double upstream = 1) {
  EagerTape tape(Device::cpu());
  std::vector<Var> in;
  std::vector<int> targets;
  for (const Values& v : at) {
    const std::vector<T> values(v.begin(), v.end());
    in.push_back(tape.input(Tensor::from(Device::cpu(), std::span(values), Shape{static_cast<std::int64_t>(v.size())})));
    targets.push_back(in.back().id);
  }
  const Var y = f(in);
  const auto adjoint = backward(y, constant_like(y, upstream), targets);
  const Reference<T> reference = expect_reference<T>(tape, "special values");
  Result result{{reference[y.id].begin(), reference[y.id].end()}, {}};
  for (std::size_t k = 0; k < at.size(); ++k) {
    const Var adjoint_of = adjoint[static_cast<std::size_t>(targets[k])];
    const std::vector<T> g = adjoint_of.valid() ? reference[adjoint_of.id] : std::vector<T>(at[k].size());
    result.gradient.emplace_back(g.begin(), g.end());
  }
  return result;
}

/// Returns the derivative of f by operand k, as a function of the operands.
Function slope(const Function& f, std::size_t k = 0) {
  return [f, k](auto in) {
    const Var y = f(in);
    return backward(y, constant_like(y, 1), {in[k].id})[static_cast<std::size_t>(in[k].id)];
  };
}

template <class T>
struct SpecialValues : testing::Test {
  static double value(Var (*f)(Var), double x) {
    return run<T>([f](auto in) { return f(in[0]); }, {{x}}).value[0];
  }
  static double gradient(Var (*f)(Var), double x, double upstream = 1) {
    return run<T>([f](auto in) { return f(in[0]); }, {{x}}, upstream).gradient[0][0];
  }
  static constexpr double digits = std::is_same_v<T, float> ? 1e-6 : 1e-14;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SpecialValues, Types);

TYPED_TEST(SpecialValues, EveryMapOp) {
  gradual::op_checks::SpecialValuesCheck<TypeParam> check;
  [&]<class... Op>(OpList<Op...>) { (check.template run<Op>(), ...); }(MapOps{});
  for (const std::string& mistake : check.mistakes) ADD_FAILURE() << mistake;
  std::printf("swept: %d map ops x 2 modes (rows, eager bits) at %d special places, in %s\n", MapOps::size, check.places,
              name_of(dtype_of<TypeParam>));
  EXPECT_GT(check.places, 15000);
}

static_assert(Elu::apply(88.0f, 8.0f) == 88.0f);  // in a constant expression, where nothing may overflow

TYPED_TEST(SpecialValues, Kinks) {  // case 17
  for (double bound : {-1.0, 2.0}) {
    const Result r = run<TypeParam>([](auto in) { return clamp(in[0], -1, 2); }, {{bound}});
    EXPECT_EQ(r.value[0], bound);
    EXPECT_EQ(r.gradient[0][0], 1);
  }
  const Function leaky = [](auto in) { return elementwise<LeakyRelu>(in[0], in[1]); };
  for (double zero : {0.0, -0.0}) {
    const Function by_slope = [&](auto in) {
      const Var y = leaky(in);
      return backward(y, constant_like(y, 1), {in[1].id})[static_cast<std::size_t>(in[1].id)];
    };
    EXPECT_EQ(run<TypeParam>(by_slope, {{zero}, {0.25}}).gradient[0][0], 1);
    const Function elu_gradient = [](auto in) {
      const Var y = elu(in[0], 2);
      return backward(y, constant_like(y, 1), {in[0].id})[static_cast<std::size_t>(in[0].id)];
    };
    EXPECT_EQ(run<TypeParam>(elu_gradient, {{zero}}).gradient[0][0], 2);
  }
  EXPECT_EQ(run<TypeParam>([](auto in) { return max(in[0], {0}); }, {{1, 1, 0}}).gradient[0], (Values{0.5, 0.5, 0}));
  EXPECT_EQ(run<TypeParam>([](auto in) { return min(in[0], {0}); }, {{1, 0, 0}}).gradient[0], (Values{0, 0.5, 0.5}));
  const Result most = run<TypeParam>([](auto in) { return max_with_index(in[0]).value; }, {{0, 1, 1}}),
               least = run<TypeParam>([](auto in) { return min_with_index(in[0]).value; }, {{1, -inf, -inf}});
  EXPECT_EQ(most.value, Values{1});
  EXPECT_EQ(most.gradient[0], (Values{0, 1, 0}));
  EXPECT_EQ(least.value, Values{-inf});
  EXPECT_EQ(least.gradient[0], (Values{0, 1, 0}));
  EXPECT_EQ(run<TypeParam>([](auto in) { return where(argmin(in[0]) == 1.0, in[0], -1.0); }, {{0, nan, -1}}).value[0], 0);
}

TYPED_TEST(SpecialValues, StraightThroughARounding) {
  const Function rounded = [](auto in) { return in[0] + stop_gradient(round(in[0]) - in[0]); };
  const Result r = run<TypeParam>(rounded, {{-2.5, 0.3, 1e8}});
  EXPECT_EQ(r.value, (Values{-2, 0, 1e8}));
  EXPECT_EQ(r.gradient[0], (Values{1, 1, 1}));
}

TEST(SpecialValuesOfDouble, SquareRootOfASubnormal) {  // case 18
  EXPECT_NEAR(SpecialValues<double>::gradient(sqrt, 1.145e-312) / 4.67e155, 1, 1e-3);
}

TYPED_TEST(SpecialValues, Products) {  // cases 20 and 26
  const auto of = [](Values x) { return run<TypeParam>([](auto in) { return prod(in[0], {0}); }, {x}); };
  EXPECT_EQ(of({0, 2, 3}).value, Values{0});
  EXPECT_EQ(of({0, 2, 3}).gradient[0], (Values{6, 0, 0}));
  EXPECT_EQ(of({0, 0, 3}).gradient[0], (Values{0, 0, 0}));
  EXPECT_EQ(of({-2, 3, inf}).gradient[0], (Values{inf, -inf, -6}));
  EXPECT_EQ(of({}).value, Values{1});
  EXPECT_TRUE(std::isnan(of({1, nan, 2}).value[0]));
}

TYPED_TEST(SpecialValues, WhatIsNotChosenGetsNoGradient) {  // case 21
  const auto gradient = [](const Function& f, double x) { return run<TypeParam>(f, {{x}}).gradient[0][0]; };
  EXPECT_EQ(gradient([](auto in) { return where(in[0] > 0.0, 1.0 / in[0], 0.0); }, 0), 0);
  EXPECT_EQ(gradient([](auto in) { return where(in[0] > 0.0, log(in[0]), 0.0); }, 0), 0);
  EXPECT_EQ(gradient([](auto in) { return where(in[0] > 0.0, sqrt(in[0]), 0.0); }, 0), 0);
  EXPECT_EQ(gradient([](auto in) { return where(in[0] < 1.0, exp(in[0]), 0.0); }, 1e4), 0);
}

TYPED_TEST(SpecialValues, InfiniteFactorsOfWhatIsNotChosenSpoilGradients) {
  const auto gradient = [](const Function& f) { return run<TypeParam>(f, {{0}}).gradient[0][0]; };
  EXPECT_TRUE(std::isnan(gradient([](auto in) { return where(in[0] > 0.0, in[0] * log(in[0]), 0.0); })));
  EXPECT_TRUE(std::isnan(gradient([](auto in) { return where(in[0] > 0.0, square(1.0 / in[0]), 0.0); })));
  const Function chosen_before = [](auto in) {
    const Var s = where(in[0] > 0.0, in[0], 1.0);
    return where(in[0] > 0.0, s * log(s), 0.0);
  };
  EXPECT_EQ(gradient(chosen_before), 0);
}

TYPED_TEST(SpecialValues, Softmax) {  // case 22
  using Of = SpecialValues<TypeParam>;
  const Function p = [](auto in) { return softmax(in[0]); }, l = [](auto in) { return logsumexp(in[0]); };
  const double expected[] = {.090030573170, .244728471055, .665240955775};
  const Result large = run<TypeParam>(p, {{1000, 1001, 1002}});
  const Result logs = run<TypeParam>([](auto in) { return log_softmax(in[0]); }, {{1e6, 1e6 + 1, 1e6 + 2}});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(large.value[i], expected[i], std::max(Of::digits, 1e-12));
    EXPECT_NEAR(logs.value[i], std::log(expected[i]), std::max(Of::digits, 1e-11));
  }
  for (double v : run<TypeParam>(p, {{-inf, -inf}}).value) EXPECT_TRUE(std::isnan(v));
  const Result pair = run<TypeParam>(l, {{1000, 1000}});
  EXPECT_NEAR(pair.value[0] / 1000.6931471805599, 1, Of::digits);
  EXPECT_EQ(pair.gradient[0], (Values{0.5, 0.5}));
  const Result nothing = run<TypeParam>(l, {{-inf, -inf}});
  EXPECT_EQ(nothing.value[0], -inf);
  EXPECT_EQ(nothing.gradient[0], (Values{0, 0}));
  EXPECT_EQ(run<TypeParam>(l, {{-inf, 0, -inf}}).gradient[0], (Values{0, 1, 0}));
  EXPECT_EQ(run<TypeParam>(l, {{inf, 0}}).value[0], inf);
}

TYPED_TEST(SpecialValues, CrossEntropy) {  // case 23
  const auto at = [](std::int32_t label) {
    EagerTape tape(Device::cpu());
    const std::vector<TypeParam> given{0, static_cast<TypeParam>(-inf), 0};
    const std::vector<std::int32_t> labels{label};
    const Var scores = tape.input(given, {3});
    const Var y = cross_entropy(scores, tape.input(labels));
    const Var g = backward(y, constant_like(y, 1), {scores.id})[static_cast<std::size_t>(scores.id)];
    const Reference<TypeParam> reference = expect_reference<TypeParam>(tape, "cross entropy");
    return std::pair(reference[y.id][0], Values(reference[g.id].begin(), reference[g.id].end()));
  };
  EXPECT_NEAR(at(0).first, std::log(2.0), 1e-7);
  EXPECT_EQ(at(0).second, (Values{-0.5, 0, 0.5}));
  EXPECT_EQ(at(1).first, inf);
}

TYPED_TEST(SpecialValues, DifferencesOfLogGammasHaveTheirDigits) {
  using Of = SpecialValues<TypeParam>;
  const struct {
    double x, n, value, by_x, by_n;  // by quadruple precision
  } known[] = {
      {0.25, 3, -0.35222059358935209, 5.2444444444444445, 1.016990911068179},
      {7.5, 0.5, 0.99079712430668132, 0.068883993709523209, 2.0156414779556102},
      {8, 7, 16.666059821673269, 0.65870518370518372, 2.6743466616607936},
      {9, 9, 22.900470547391638, 0.72169537978361509, 2.862336857739225},
      {24, 1, 3.1780538303479458, 0.041666666666666664, 3.198742512851974},
      {1000, 5, 34.548761428155778, 0.0049900299003527047, 6.9122452255491647},
      {1048576, 50, 693.14834879260013, 4.7682601724364686e-05, 13.862990816963396},
      {1e+09, 1, 20.72326583694641, 1.0000000000000001e-09, 20.723265837446412},
      {16, 1e+06, 12815697.718165156, 11.074512729516732, 13.815526057844192}};
  for (const auto& [x, n, value, by_x, by_n] : known) {
    const Result got = run<TypeParam>([](auto in) { return log_rising(in[0], in[1]); }, {{x}, {n}});
    EXPECT_NEAR(got.value[0], value, 4 * Of::digits * (std::abs(value) + n)) << x << " " << n;
    EXPECT_NEAR(got.gradient[0][0], by_x, 20 * Of::digits * by_x) << x << " " << n;
    EXPECT_NEAR(got.gradient[1][0], by_n, 4 * Of::digits * (1 + std::abs(by_n))) << x << " " << n;
  }
  const Result none = run<TypeParam>([](auto in) { return log_rising(in[0], in[1]); }, {{0.25, 8, 1e30}, {0, 0, 0}});
  EXPECT_EQ(none.value, (Values{0, 0, 0}));
  EXPECT_EQ(none.gradient[0], (Values{0, 0, 0}));
}

TYPED_TEST(SpecialValues, ExponentialsDoNotOverflow) {  // case 24
  using Of = SpecialValues<TypeParam>;
  EXPECT_EQ(Of::value(log_sigmoid, -1000), -1000);
  EXPECT_EQ(Of::gradient(log_sigmoid, -1000), 1);
  const Function slope = [](auto in) { return gradients(erfcx(in[0]), {in[0]})[0]; };
  const double known[][3] = {  // x, and the first and second derivative of erfcx there, by mpmath
      {-2, -436.8919967270074, 1965.4497956879856},          {0.5, -0.5126888229025867, 0.71869186548326505},
      {3, -0.054372260007172871, 0.031768742319742673},      {4.9, -0.022164079609876773, 0.008550200942725135},
      {5.5, -0.017794764701022603, 0.0061820250877495398},   {8, -0.0086165078814177303, 0.0021062062990781701},
      {15.9, -0.0022185622594248901, 0.00027743114626885335}, {17, -0.0019421671048443261, 0.00022731843474398587},
      {40, -0.00035228842528748392, 1.7597943756913901e-5},  {1000, -5.6418873726549667e-7, 1.1283757819707055e-9},
      {9000, -6.9653033716024859e-9, 1.5478451650256427e-12}, {1e5, -5.6418958346312785e-11, 1.1283791667569988e-15}};
  for (const auto& [x, by_x, twice] : known)
    for (const bool of_slope : {false, true}) {
      const double got = of_slope ? run<TypeParam>(slope, {{x}}).gradient[0][0] : Of::gradient(erfcx, x);
      EXPECT_NEAR(got / (of_slope ? twice : by_x), 1, (of_slope ? 4000 : 100) * Of::digits) << x;
    }
  EXPECT_EQ(run<TypeParam>(slope, {{inf}}).gradient[0][0], 0);
  // Below −14 (float), −38 (double) Φ(x) is 0.
  EXPECT_NEAR(Of::value(log_ndtr, -100) / -5005.524208694205, 1, Of::digits);
  EXPECT_NEAR(Of::gradient(log_ndtr, -100) / 100.00999800099925, 1, 10 * Of::digits);
  EXPECT_NEAR(Of::gradient(log_ndtr, -1e10) / 1e10, 1, 10 * Of::digits);
  EXPECT_NEAR(Of::value(log_ndtr, 0) / std::log(0.5), 1, Of::digits);
  EXPECT_NEAR(Of::gradient(log_ndtr, 0) / 0.7978845608028654, 1, Of::digits);
  EXPECT_NEAR(Of::value(log_ndtr, 5) / -2.866516129637636e-07, 1, 20 * Of::digits);
  EXPECT_NEAR(Of::gradient(log_ndtr, 5) / 1.4867199409049057e-06, 1, 50 * Of::digits);
  EXPECT_EQ(Of::value(log_ndtr, inf), 0);
  EXPECT_EQ(Of::value(log_ndtr, -inf), -inf);
  const auto bce = [](double score, double target) {
    return run<TypeParam>([](auto in) { return bce_with_logits(in[0], in[1]); }, {{score}, {target}});
  };
  EXPECT_EQ(bce(1000, 0).value[0], 1000);
  EXPECT_EQ(bce(1000, 0).gradient[0][0], 1);
  EXPECT_EQ(bce(-1000, 1).value[0], 1000);
  for (const auto& [score, target] : {std::pair(inf, 1), std::pair(-inf, 0)}) {
    EXPECT_EQ(bce(score, target).value[0], 0);
    EXPECT_EQ(bce(score, target).gradient[0][0], 0);
    EXPECT_EQ(bce(score, 1 - target).value[0], inf);
  }
  const double small = std::log1p(std::exp(-30.0));  // as a difference of large terms it would be 0
  EXPECT_NEAR(bce(30, 1).value[0] / small, 1, 1e-6);
  EXPECT_NEAR(bce(-30, 0).value[0] / small, 1, 1e-6);
}

TEST(SpecialValuesOfFloat, RowSumOf33554432Ones) {  // case 25
  Tape tape;
  Var ones = constant_like(input(tape, Shape{}, DType::f32), 1);
  const Var y = sum(broadcast(ones, Shape{1 << 25}), {0});
  EXPECT_EQ(Reference<float>(tape, 1, {{0.0f}}, {})[y.id][0], 33554432.0f);
}

TYPED_TEST(SpecialValues, NaNStaysInItsRow) {  // case 30
  constexpr std::size_t width = 40;
  const Function rows[] = {[](auto in) { return max(in[0], {1}); }, [](auto in) { return min(in[0], {1}); },
                           [](auto in) { return max(relu(in[0]), {1}); }, [](auto in) { return sum(softmax(in[0]), {1}); },
                           [](auto in) { return min(clamp(in[0], -2, 2), {1}); }, [](auto in) { return sum(in[0], {1}); }};
  for (std::size_t i = 0; i < width; ++i)
    for (const Function& f : rows) {
      Values x(3 * width, 1);
      x[width + i] = nan;
      const Values y = run<TypeParam>([&](auto in) { return f({reshape(in[0], Shape{3, width})}); }, {x}).value;
      EXPECT_TRUE(std::isnan(y[1])) << i;
      EXPECT_TRUE(std::isfinite(y[0]) && y[0] == y[2]) << i;
    }
}

// The floating-point control register, and its bits that enable flushing to zero.
#if defined(__aarch64__)
using FloatControl = std::uint64_t;
FloatControl float_control() {
  FloatControl mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void set_float_control(FloatControl mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
constexpr FloatControl flushing[] = {1u << 24};
#else
using FloatControl = unsigned;
FloatControl float_control() { return _mm_getcsr(); }
void set_float_control(FloatControl mode) { _mm_setcsr(mode); }
constexpr FloatControl flushing[] = {0x8000, 0x40};  // results, operands
#endif

TEST(SpecialValuesOfFloat, AreNotFlushedToZero) {  // case 30
  EXPECT_EQ(SpecialValues<float>::value(exp, -100), 3.78350585e-44f);
  const FloatControl mode = float_control();
  for (const FloatControl flushes : flushing) {
    set_float_control(mode | flushes);
    EXPECT_THROW(check_numerics(), NumericsError);
    set_float_control(mode);
  }
  EXPECT_NO_THROW(check_numerics());
}

TEST(SpecialValuesOfFloat, AreNotRoundedAway) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const std::string why = error_of<NumericsError>([] { check_numerics(); });
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(why.starts_with("gradual: the processor does not round to nearest")) << why;
  }
}

TEST(SpecialValuesOfFloat, AreLookedAtWithoutATrap) {  // in a program that traps would stop
  if (::feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW) < 0) GTEST_SKIP() << "skipped: no traps";
  check_numerics();
  ::fedisableexcept(FE_ALL_EXCEPT);
}

TYPED_TEST(SpecialValues, SecondDerivativeWhereTheFirstVanishes) {
  // At the minimum of (x/2 − 1)² and similar functions, the adjoint is 0 but its derivative is not.
  const auto curvature = [](const Function& inner, double x) {
    return run<TypeParam>(
               [&](auto in) {
                 Var y = square(inner(in) - 1.0);
                 return backward(y, constant_like(y, 1), {in[0].id})[static_cast<std::size_t>(in[0].id)];
               },
               {{x}})
        .gradient[0][0];
  };
  EXPECT_EQ(curvature([](auto in) { return in[0] / 2.0; }, 2), 0.5);
  EXPECT_EQ(curvature([](auto in) { return 1.0 / in[0]; }, 1), 2);
  EXPECT_EQ(curvature([](auto in) { return sqrt(in[0]); }, 1), 0.5);
  EXPECT_EQ(curvature([](auto in) { return exp(in[0]); }, 0), 2);
  EXPECT_EQ(curvature([](auto in) { return 1.0 + log(in[0]); }, 1), 2);
}

TYPED_TEST(SpecialValues, SecondDerivativesOfWhatIsNotChosenAreZero) {
  const Function chosen[] = {[](auto in) { return where(in[0] > 0.0, log(in[0]), 0.0); },
                             [](auto in) { return where(in[0] > 0.0, sqrt(in[0]), 0.0); },
                             [](auto in) { return where(in[0] > 0.0, 1.0 / in[0], 0.0); },
                             [](auto in) { return where(in[0] > 0.0, sin(in[0]) / in[0], 1.0); }};
  for (const Function& f : chosen)
    for (const double x : {0.0, -0.0, -1.0}) EXPECT_EQ(run<TypeParam>(slope(f), {{x}}).gradient[0][0], 0) << x;
}

TEST(SpecialValuesOfTwoTypes, AConditionInDoubleChoosesBetweenFloatsAsItIs) {
  const std::vector<float> x{1e-30f, -2, 0, std::numeric_limits<float>::quiet_NaN()};
  EagerTape tape(Device::cpu(), 1);
  const Var in = tape.input(x, {4}), chosen = where(convert(in, DType::f64) * 1e-30, 2.0 * in, 100.0 + in);
  const Tensor value_of_x = value(chosen), slope = value(gradients(sum(chosen, {1}), {in})[0]);
  EXPECT_EQ(value_of_x[0], 2e-30f);  // chosen by 1e-60, which is no float
  EXPECT_EQ(value_of_x[1], -4);
  EXPECT_EQ(value_of_x[2], 100);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(slope[i], i == 2 ? 1 : 2) << i;
}

TYPED_TEST(SpecialValues, SecondDerivativesInEitherOrder) {
  const auto both = [](const Function& f, double a, double b) {
    return std::pair(run<TypeParam>(slope(f, 0), {{a}, {b}}).gradient[1][0],
                     run<TypeParam>(slope(f, 1), {{a}, {b}}).gradient[0][0]);
  };
  const Function power = [](auto in) { return pow(in[0], in[1]); }, angle = [](auto in) { return atan2(in[0], in[1]); },
                 divided = [](auto in) { return strong_divide(in[0], in[1]); };
  EXPECT_EQ(both(power, 2, 0), std::pair(0.5, 0.5));  // 1/a, although the derivative by a is 0
  EXPECT_EQ(both(power, 1, -0.0), std::pair(1.0, 1.0));
  EXPECT_EQ(both(power, -2, 0).first, -0.5);
  EXPECT_EQ(both(angle, 0, 0), std::pair(0.0, 0.0));
  EXPECT_EQ(both(angle, 0, 2), std::pair(-0.25, -0.25));
  EXPECT_EQ(both(divided, 0, 2), std::pair(-0.25, -0.25));
  EXPECT_EQ(run<TypeParam>(slope(power), {{0}, {0}}).gradient[0][0], 0);
}

}  // namespace special_values_test
