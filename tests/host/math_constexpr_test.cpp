// The elementary functions in constant expressions: special values, and the same bits as at run time.

#include <array>
#include <cstddef>
#include <limits>

#include <gtest/gtest.h>

#include <gradual/core/math/math.hpp>

namespace math_constexpr_test {

namespace math = gradual::math;

template <class T> constexpr bool is_nan(T x) { return x != x; }
template <class T> constexpr bool same(T a, T b) {
  return math::to_bits(a) == math::to_bits(b) || (is_nan(a) && is_nan(b));
}

template <class T> constexpr bool test_saturation() {
  constexpr T inf = math::infinity<T>(), least = std::numeric_limits<T>::denorm_min();
  return same(math::exp(T(0)), T(1)) && same(math::exp(T(-1000)), T(0)) && same(math::exp(-inf), T(0)) &&
         same(math::expm1(T(-1000)), T(-1)) && same(math::tanh(T(50)), T(1)) && same(math::tanh(-inf), T(-1)) &&
         same(math::tanh(std::numeric_limits<T>::max()), T(1)) && same(math::tanh(T(-1e13)), T(-1)) &&
         same(math::sigmoid(T(0)), T(0.5)) && same(math::sigmoid(T(100)), T(1)) && math::sigmoid(T(-100)) > 0 &&
         same(math::sigmoid(T(-1000)), T(0)) && same(math::softplus(T(1000)), T(1000)) &&
         same(math::softplus(T(-1000)), T(0)) && same(math::erf(T(7)), T(1)) && same(math::erf(-inf), T(-1)) &&
         same(math::erfcx(inf), T(0)) && math::erfcx(std::numeric_limits<T>::max()) > 0 &&
         math::exp(std::numeric_limits<T>::digits == 24 ? T(-103) : T(-745)) == least;
}

template <class T> constexpr bool test_signed_zeros() {
  constexpr T zero = T(-0.0);
  return same(math::sqrt(zero), zero) && same(math::tanh(zero), zero) && same(math::erf(zero), zero) &&
         same(math::expm1(zero), zero) && same(math::log1p(zero), zero) && same(math::sin(zero), zero) &&
         same(math::pow(zero, T(3)), zero) && same(math::pow(zero, T(2)), T(0)) && same(math::abs(zero), T(0)) &&
         same(math::copysign(T(2), zero), T(-2));
}

template <class T> constexpr bool test_special_values() {
  constexpr T inf = math::infinity<T>(), nan = math::quiet_nan<T>();
  return same(math::log(T(1)), T(0)) && same(math::log(T(0)), -inf) && same(math::log(T(-1)), nan) &&
         same(math::log(inf), inf) && same(math::log1p(T(-1)), -inf) && same(math::log1p(T(-2)), nan) &&
         same(math::log1p(inf), inf) && same(math::lgamma(T(1)), T(0)) && same(math::lgamma(T(2)), T(0)) &&
         same(math::lgamma(T(0)), inf) && same(math::lgamma(T(-0.5)), nan) && same(math::lgamma(inf), inf) &&
         same(math::lgamma(std::numeric_limits<T>::max()), inf) && same(math::digamma(T(0)), -inf) &&
         same(math::digamma(T(-0.5)), nan) && same(math::digamma(inf), inf) && same(math::sqrt(T(-1)), nan) &&
         same(math::sqrt(inf), inf) && same(math::sqrt(T(2)), T(1.41421356237309504880L)) && same(math::sin(inf), nan) &&
         same(math::cos(T(0)), T(1)) && same(math::fma(inf, T(2), -inf), nan) && same(math::fma(T(2), T(3), T(4)), T(10));
}

template <class T> constexpr bool test_pow() {
  constexpr T inf = math::infinity<T>(), nan = math::quiet_nan<T>();
  return same(math::pow(T(0), T(0)), T(1)) && same(math::pow(T(-3), T(0)), T(1)) && same(math::pow(inf, T(0)), T(1)) &&
         same(math::pow(T(1), inf), T(1)) && same(math::pow(T(-1), inf), T(1)) && same(math::pow(T(-1), T(7)), T(-1)) &&
         same(math::pow(T(-2), T(3)), T(-8)) && same(math::pow(T(-2), T(-2)), T(0.25)) &&
         same(math::pow(T(-2), T(0.5)), nan) && same(math::pow(T(0), T(-1)), inf) &&
         same(math::pow(T(-0.0), T(-1)), -inf) && same(math::pow(T(-0.0), T(-2)), inf) &&
         same(math::pow(T(0), T(2.5)), T(0)) && same(math::pow(-inf, T(3)), -inf) && same(math::pow(-inf, T(0.5)), inf) &&
         same(math::pow(-inf, T(-3)), T(-0.0)) && same(math::pow(T(0.5), inf), T(0)) && same(math::pow(T(2), -inf), T(0)) &&
         same(math::pow(T(10), T(2)), T(100));
}

/// The angles of C's atan2 at zeros and infinities: multiples of π/4.
template <class T> constexpr bool test_atan2() {
  constexpr T inf = math::infinity<T>(), pi = T(3.14159265358979323846), zero = T(-0.0);
  return same(math::atan2(T(0), T(0)), T(0)) && same(math::atan2(zero, T(0)), zero) && same(math::atan2(T(0), zero), pi) &&
         same(math::atan2(zero, zero), -pi) && same(math::atan2(T(0), T(-3)), pi) && same(math::atan2(zero, T(3)), zero) &&
         same(math::atan2(T(2), T(0)), pi / 2) && same(math::atan2(T(-2), zero), -pi / 2) &&
         same(math::atan2(T(3), T(3)), pi / 4) && same(math::atan2(inf, inf), pi / 4) &&
         same(math::atan2(inf, -inf), T(2.35619449019234492885)) && same(math::atan2(-inf, T(7)), -pi / 2) &&
         same(math::atan2(T(7), inf), T(0)) && same(math::atan2(T(-7), inf), zero) && same(math::atan2(T(7), -inf), pi);
}

template <class T> constexpr bool test_integers() {
  constexpr T inf = math::infinity<T>(), zero = T(-0.0), last = math::power_of_two<T>(std::numeric_limits<T>::digits - 1);
  return same(math::round(T(0.5)), T(0)) && same(math::round(T(-1.5)), T(-2)) && same(math::round(T(-0.3)), zero) &&
         same(math::round(last - T(0.5)), last) && same(math::round(last - T(1.5)), last - 2) &&
         same(math::round(last + 1), last + 1) && same(math::round(-inf), -inf) && same(math::floor(zero), zero) &&
         same(math::floor(T(0.7)), T(0)) && same(math::floor(T(-0.3)), T(-1)) && same(math::floor(T(-4)), T(-4)) &&
         same(math::floor(T(0.5) - last), -last) && same(math::floor(inf), inf);
}

template <class T> constexpr bool test() {
  return test_integers<T>() && test_atan2<T>() && test_saturation<T>() && test_signed_zeros<T>() &&
         test_special_values<T>() && test_pow<T>();
}

static_assert(test<float>());
static_assert(test<double>());

// At run time NaN may also come in, and results may overflow; a constant expression refuses both.
template <class T> bool test_beyond_constant_expressions() {
  const volatile T hidden_nan = math::quiet_nan<T>(), hidden_large = 1000;
  const T nan = hidden_nan, large = hidden_large, inf = math::infinity<T>();
  bool passes = true;
  for (T (*function)(T) : {math::exp<T>, math::expm1<T>, math::log<T>, math::log1p<T>, math::tanh<T>, math::sigmoid<T>,
                           math::softplus<T>, math::erf<T>, math::erfcx<T>, math::lgamma<T>, math::digamma<T>, math::sin<T>,
                           math::cos<T>, math::sqrt<T>, math::round<T>, math::floor<T>})
    passes = passes && is_nan(function(nan));
  return passes && is_nan(math::pow(nan, T(2))) && is_nan(math::pow(T(2), nan)) &&
         same(math::pow(nan, T(0)), T(1)) && same(math::pow(T(1), nan), T(1)) && is_nan(math::pow(T(0), nan)) &&
         is_nan(math::atan2(nan, T(2))) && is_nan(math::atan2(T(2), nan)) && is_nan(math::atan2(inf, nan)) &&
         same(math::exp(large), inf) && same(math::exp(large * inf), inf) && same(math::expm1(large), inf) &&
         same(math::erfcx(-large), inf) && same(math::erfcx(-large * inf), inf) &&
         same(math::pow(large, large), inf) && same(math::pow(-large, large + 1), -inf) && is_nan(math::sin(inf));
}

TEST(MathConstexpr, SpecialValuesAtRunTime) {
  EXPECT_TRUE(test<float>());
  EXPECT_TRUE(test<double>());
  EXPECT_TRUE(test_beyond_constant_expressions<float>());
  EXPECT_TRUE(test_beyond_constant_expressions<double>());
}

constexpr std::size_t count = 24;
template <class T>
constexpr std::array<T, count> inputs = {T(-100.5), T(-87.4),  T(-20),   T(-9.1), T(-3.3),  T(-1),   T(-0.7),   T(-0.55),
                                         T(-0.1),   T(-1e-3),  T(-1e-9), T(0),    T(1e-30), T(1e-5), T(0.01),   T(0.3),
                                         T(0.5625), T(0.9999), T(1.5),   T(2.75), T(7),     T(15.3), T(31.415), T(80.25)};

template <class T, class F> constexpr std::array<T, count> evaluate(const std::array<T, count>& x, F function) {
  std::array<T, count> y{};
  for (std::size_t i = 0; i < count; ++i) y[i] = function(x[i]);
  return y;
}

/// The function is a template argument, so that its table is made by the compiler.
template <class T, auto function> void expect_equal_bits(const char* name) {
  constexpr std::array<T, count> constant = evaluate<T>(inputs<T>, function);
  std::array<T, count> hidden{};
  for (std::size_t i = 0; i < count; ++i) {
    const volatile T x = inputs<T>[i];
    hidden[i] = x;
  }
  const std::array<T, count> looped = evaluate<T>(hidden, function);
  for (std::size_t i = 0; i < count; ++i) {
    const T scalar = function(hidden[i]);
    EXPECT_TRUE(same(constant[i], scalar)) << name << "(" << hidden[i] << "): " << constant[i] << " and " << scalar;
    EXPECT_TRUE(same(constant[i], looped[i])) << name << "(" << hidden[i] << "): " << constant[i] << " and " << looped[i];
  }
}

template <class T> struct MathConstexprBits : testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(MathConstexprBits, Types);

TYPED_TEST(MathConstexprBits, SameAsAtRunTime) {
  using T = TypeParam;
  expect_equal_bits<T, [](T x) { return math::exp(x); }>("exp");
  expect_equal_bits<T, [](T x) { return math::expm1(x); }>("expm1");
  expect_equal_bits<T, [](T x) { return math::log(x); }>("log");
  expect_equal_bits<T, [](T x) { return math::log1p(x); }>("log1p");
  expect_equal_bits<T, [](T x) { return math::tanh(x); }>("tanh");
  expect_equal_bits<T, [](T x) { return math::sigmoid(x); }>("sigmoid");
  expect_equal_bits<T, [](T x) { return math::softplus(x); }>("softplus");
  expect_equal_bits<T, [](T x) { return math::erf(x); }>("erf");
  expect_equal_bits<T, [](T x) { return math::erfcx(math::select(x < -9, T(-9), x)); }>("erfcx");
  expect_equal_bits<T, [](T x) { return math::lgamma(math::abs(x)); }>("lgamma(|x|)");
  expect_equal_bits<T, [](T x) { return math::digamma(math::abs(x)); }>("digamma(|x|)");
  expect_equal_bits<T, [](T x) { return math::sin(x); }>("sin");
  expect_equal_bits<T, [](T x) { return math::cos(x); }>("cos");
  expect_equal_bits<T, [](T x) { return math::sqrt(x); }>("sqrt");
  expect_equal_bits<T, [](T x) { return math::round(x); }>("round");
  expect_equal_bits<T, [](T x) { return math::floor(x); }>("floor");
  expect_equal_bits<T, [](T x) { return math::pow(math::abs(x), T(1.7)); }>("pow(|x|, 1.7)");
  expect_equal_bits<T, [](T x) { return math::pow(x, T(3)); }>("pow(x, 3)");
  expect_equal_bits<T, [](T x) { return math::atan2(x, T(0.7) - x); }>("atan2(x, 0.7 - x)");
  expect_equal_bits<T, [](T x) { return math::quotient(x, math::abs(x) + T(0.3)); }>("x / (|x| + 0.3)");
  expect_equal_bits<T, [](T x) { return math::fma(x, x, T(-0.3)); }>("x * x - 0.3");
}

}  // namespace math_constexpr_test
