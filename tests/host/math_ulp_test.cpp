// The error of every elementary function, in units in the last place, against the C library in the next wider format.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <gradual/core/math/math.hpp>

namespace math = gradual::math;

namespace {

constexpr std::size_t block = 1 << 14;

/// |got - exact| in units of the last place that T has at `exact`; infinite where only one of them is NaN or infinite.
template <class T> double ulp_error(T got, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(got) || std::isnan(exact)) return std::isnan(got) && std::isnan(exact) ? 0 : HUGE_VAL;
  if (std::isinf(got) || std::isinf(rounded)) return got == rounded ? 0 : HUGE_VAL;
  using Limits = std::numeric_limits<T>;
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int last_place = std::max(exponent - Limits::digits, Limits::min_exponent - Limits::digits);
  return static_cast<double>(std::ldexp(std::fabs(got - exact), -last_place));
}

struct Worst {
  double ulp = 0;
  long double at = 0;
};

template <class T, class Function, class Exact>
void measure(const std::vector<T>& x, Function function, Exact exact, Worst& worst) {
  std::vector<T> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = function(x[i]);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (const double ulp = ulp_error<T>(y[i], exact(x[i])); !(ulp <= worst.ulp)) worst = {ulp, x[i]};
}

/// Every 257th float, of both signs: subnormals, infinities and NaNs included.
template <class Function, class Exact> Worst worst_float(Function function, Exact exact) {
  Worst worst;
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 257) {
    x.push_back(math::from_bits<float>(static_cast<std::uint32_t>(bits)));
    if (x.size() < block) continue;
    measure(x, function, exact, worst);
    x.clear();
  }
  measure(x, function, exact, worst);
  return worst;
}

/// 1.3 million doubles: any bits, uniform in [-40, 40], [-2, 2] and [-800, 800].
template <class Function, class Exact> Worst worst_double(Function function, Exact exact) {
  Worst worst;
  std::mt19937_64 random(17);
  std::vector<double> x(block);
  for (int repeat = 0; repeat < 80; ++repeat) {
    const double range = std::vector<double>{0, 40, 2, 800}[repeat % 4];
    std::uniform_real_distribution<double> uniform(-range, range);
    for (double& value : x) value = range == 0 ? math::from_bits<double>(random()) : uniform(random);
    measure(x, function, exact, worst);
  }
  return worst;
}

/// One function with the bounds that its docstring states.
template <class Function, class Exact>
void expect_within(double bound_float, double bound_double, Function function, Exact exact) {
  const Worst single = worst_float(function, [&](float x) { return exact(static_cast<double>(x)); });
  const Worst wide = worst_double(function, [&](double x) { return exact(static_cast<long double>(x)); });
  EXPECT_LE(single.ulp, bound_float) << "float, at " << std::hexfloat << single.at;
  EXPECT_LE(wide.ulp, bound_double) << "double, at " << std::hexfloat << wide.at;
  testing::Test::RecordProperty("float_ulp", std::to_string(single.ulp));
  testing::Test::RecordProperty("double_ulp", std::to_string(wide.ulp));
}

/// x within the range that sin and cos promise, else NaN: 2^50 for a float (seen here as double), 2^30 for a double.
template <class T> T in_trigonometric_range(T x) {
  return std::fabs(x) <= (sizeof(T) == sizeof(double) ? T(0x1p50) : T(0x1p30)) ? x : std::numeric_limits<T>::quiet_NaN();
}

}  // namespace

TEST(MathUlp, Exp) {
  expect_within(1, 1, [](auto x) { return math::exp(x); }, [](auto x) { return std::exp(x); });
}
TEST(MathUlp, Expm1) {
  expect_within(1.5, 1.9, [](auto x) { return math::expm1(x); }, [](auto x) { return std::expm1(x); });
}
TEST(MathUlp, Log) {
  expect_within(1, 1, [](auto x) { return math::log(x); }, [](auto x) { return std::log(x); });
}
TEST(MathUlp, Log1p) {
  expect_within(1, 1, [](auto x) { return math::log1p(x); }, [](auto x) { return std::log1p(x); });
}
TEST(MathUlp, Tanh) {
  expect_within(1.4, 1.5, [](auto x) { return math::tanh(x); }, [](auto x) { return std::tanh(x); });
}
TEST(MathUlp, Sigmoid) {
  expect_within(2, 2, [](auto x) { return math::sigmoid(x); }, [](auto x) { return 1 / (1 + std::exp(-x)); });
}
TEST(MathUlp, Softplus) {
  expect_within(1.7, 1.7, [](auto x) { return math::softplus(x); },
                [](auto x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); });
}
TEST(MathUlp, Erf) {
  expect_within(1.1, 1, [](auto x) { return math::erf(x); }, [](auto x) { return std::erf(x); });
}
/// Returns exp(x²)·erfc(x), corrected for the rounding of the square; beyond 20, the asymptotic series.
template <class T> T exact_erfcx(T x) {
  if (x > 20) {
    T sum = 1, term = 1;
    for (int k = 1; k < 12; ++k) sum += term *= -(2 * k - 1) / (2 * x) / x;
    return sum / x / std::sqrt(std::acos(T(-1)));
  }
  const T square = x * x, rounded_by = std::fma(x, x, -square);
  return x < -30 ? HUGE_VAL : std::exp(square) * (1 + rounded_by) * std::erfc(x);
}
TEST(MathUlp, Erfcx) {
  expect_within(3, 3.2, [](auto x) { return math::erfcx(x); }, [](auto x) { return exact_erfcx(x); });
}
TEST(MathUlp, Lgamma) {
  expect_within(3, 3, [](auto x) { return math::lgamma(x); }, [](auto x) { return x < 0 ? NAN : std::lgamma(x); });
}

/// Returns ψ(x) as a sum of differences from the terms at its root, which lose no digits there.
template <class T> T exact_digamma(T x) {
  if (!(x > 0) || std::isinf(x)) return x == 0 ? -HUGE_VAL : x < 0 ? NAN : x;
  const auto tail = [](T y) {  // log(y) - 1/(2y) - ψ(y)
    const T s = 1 / (y * y);
    return s * (T(1) / 12 - s * (T(1) / 120 - s * (T(1) / 252 - s * (T(1) / 240 - s * (T(1) / 132 - s * T(691) / 32760)))));
  };
  if (x > 30) return std::log(x) - 1 / (2 * x) - tail(x);
  const T root = 0x1.762d86356be3fp0, distance = (x - root) - T(0x1.b86a722197829p-54), far = root + 30;
  T sum = std::log1p(distance / far) + distance / (2 * far * (x + 30)) - (tail(x + 30) - tail(far));
  for (int i = 0; i < 30; ++i) sum += distance / ((x + i) * (root + i));
  return sum;
}
TEST(MathUlp, Digamma) {
  expect_within(4, 5, [](auto x) { return math::digamma(x); }, [](auto x) { return exact_digamma(x); });
}
TEST(MathUlp, Sqrt) {
  expect_within(0.5 + 1e-6, 0.5 + 1e-3, [](auto x) { return math::sqrt(x); }, [](auto x) { return std::sqrt(x); });
}
/// Random operands, and quotients near the smallest normal number, where the remainder is subnormal.
template <class T> void expect_quotients() {
  std::mt19937_64 random(23);
  double worst = 0;
  for (int i = 0; i < 1'200'000; ++i) {
    const auto draw = [&](int exponent) {
      return std::ldexp(static_cast<T>(1 + static_cast<double>(random() >> 11) * 0x1p-53), exponent);
    };
    const int most = sizeof(T) == 4 ? 60 : 500;
    const T b = draw(static_cast<int>(random() % static_cast<unsigned>(2 * most)) - most), a = draw(i % 3 == 0 ? -2 * most : 0);
    if (i % 3 != 0) {
      EXPECT_EQ(math::quotient(a, b), a / b) << a << " / " << b;
    }
    worst = std::max(worst, ulp_error<T>(math::quotient(a, b), static_cast<long double>(a) / static_cast<long double>(b)));
  }
  EXPECT_LE(worst, 1);
}
TEST(MathUlp, Quotient) {
  expect_quotients<float>();
  expect_quotients<double>();
}

TEST(MathUlp, Sin) {
  expect_within(0.51, 1, [](auto x) { return math::sin(x); }, [](auto x) { return std::sin(in_trigonometric_range(x)); });
}
TEST(MathUlp, Cos) {
  expect_within(0.51, 1, [](auto x) { return math::cos(x); }, [](auto x) { return std::cos(in_trigonometric_range(x)); });
}

/// sin near multiples of π and cos near odd multiples of π/2, where the reduction loses the most digits.
TEST(MathUlp, TrigonometricZeros) {
  double worst = 0;
  for (int n = 1; n < 400'000; n += 7) {
    const double at = n * 1.57079632679489661923, x = n % 3 == 0 ? std::nextafter(at, 0) : at;
    worst = std::max({worst, ulp_error<double>(math::sin(x), std::sin(static_cast<long double>(x))),
                      ulp_error<double>(math::cos(x), std::cos(static_cast<long double>(x)))});
  }
  EXPECT_LE(worst, 1);
}

/// Tests arbitrary bits, and halves of integers of every length with their neighbours.
template <class T> int wrong_integers() {
  std::mt19937_64 random(37);
  int wrong = 0;
  for (int i = 0; i < 1'200'000; ++i) {
    T x = math::from_bits<T>(static_cast<math::BitsOf<T>>(random()));
    if (i % 2 == 0) {
      x = std::copysign(static_cast<T>(random() >> random() % 64) / 2, x);
      if (i % 3 > 0) x = std::nextafter(x, i % 3 == 1 ? T(0) : std::numeric_limits<T>::infinity());
    }
    const auto same = [](T a, T b) { return math::to_bits(a) == math::to_bits(b) || (std::isnan(a) && std::isnan(b)); };
    wrong += !same(math::round(x), std::nearbyint(x)) + !same(math::floor(x), std::floor(x));
  }
  return wrong;
}

TEST(MathUlp, IntegersAreExact) {
  EXPECT_EQ(wrong_integers<float>(), 0);
  EXPECT_EQ(wrong_integers<double>(), 0);
}

/// Tests coordinates of any size and of similar size, and slopes near tan(π/8) and its inverse, where the polynomial changes.
template <class T> double worst_atan2() {
  std::mt19937_64 random(29);
  std::uniform_real_distribution<T> uniform(-1, 1);
  double worst = 0;
  for (int i = 0; i < 1'200'000; ++i) {
    T x = uniform(random), y = uniform(random);
    if (i % 4 == 0) x = math::from_bits<T>(static_cast<math::BitsOf<T>>(random()));
    if (i % 4 == 1) x = math::from_bits<T>(static_cast<math::BitsOf<T>>(random())), y *= x;
    if (i % 4 == 2) y = x * (T(0.4140625) + y / 1000);
    if (random() % 2 == 0) std::swap(x, y);
    const long double exact = std::atan2(static_cast<long double>(y), static_cast<long double>(x));
    worst = std::max(worst, ulp_error<T>(math::atan2(y, x), exact));
  }
  return worst;
}

TEST(MathUlp, Atan2) {
  EXPECT_LE(worst_atan2<float>(), 0.51);
  EXPECT_LE(worst_atan2<double>(), 0.8);
}

/// Tests bases of any size with exponents that keep the result in range, bases near 1, and arbitrary bits.
template <class T> double worst_pow() {
  std::mt19937_64 random(19);
  std::uniform_real_distribution<double> uniform(-1, 1);
  double worst = 0;
  for (int i = 0; i < 1'200'000; ++i) {
    T x = math::from_bits<T>(static_cast<math::BitsOf<T>>(random())), y;
    if (i % 3 == 0) {
      x = math::abs(x);
      y = static_cast<T>(uniform(random) * (sizeof(T) == 4 ? 104 : 745) / std::fabs(std::log(static_cast<double>(x))));
    } else if (i % 3 == 1) {
      x = static_cast<T>(1 + uniform(random) / static_cast<double>(1 << random() % 20));
      y = static_cast<T>(uniform(random) * 200);
    } else {
      y = math::from_bits<T>(static_cast<math::BitsOf<T>>(random()));
    }
    const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    worst = std::max(worst, ulp_error<T>(math::pow(x, y), exact));
  }
  return worst;
}

TEST(MathUlp, Pow) {
  EXPECT_LE(worst_pow<float>(), 0.51);
  EXPECT_LE(worst_pow<double>(), 1.2);
}
