// The integer fma and sqrt against the hardware's, bit by bit.

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <gradual/core/math/soft_float.hpp>

namespace soft_float_test {

namespace math = gradual::math;

template <class T> struct SoftFloat : testing::Test {
  std::mt19937_64 random{20240229};

  T any() { return math::from_bits<T>(static_cast<math::BitsOf<T>>(random())); }
  T with_exponent(int field) {
    const auto mantissa = math::to_bits(any()) & ~math::infinity_bits<T>;
    return math::from_bits<T>(mantissa | math::BitsOf<T>(field) << math::FloatFormat<T>::mantissa_bits);
  }
  int near(int field, int spread) { return field - spread + static_cast<int>(random() % (2 * spread + 1)); }

  static bool same(T a, T b) { return math::to_bits(a) == math::to_bits(b) || (a != a && b != b); }
  static void expect_fma(T a, T b, T c) {
    const T soft = math::soft::fma(a, b, c), hard = std::fma(a, b, c);
    ASSERT_TRUE(same(soft, hard)) << std::hexfloat << a << " * " << b << " + " << c << ": " << soft << ", not " << hard;
  }
  static void expect_sqrt(T x) {
    const T soft = math::soft::sqrt(x), hard = std::sqrt(x);
    ASSERT_TRUE(same(soft, hard)) << std::hexfloat << "sqrt " << x << ": " << soft << ", not " << hard;
  }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SoftFloat, Types);

TYPED_TEST(SoftFloat, RandomBits) {
  for (int i = 0; i < 1'000'000; ++i) {
    this->expect_fma(this->any(), this->any(), this->any());
    this->expect_sqrt(this->any());
  }
}

TYPED_TEST(SoftFloat, OperandsOfSimilarSize) {
  constexpr int bias = math::FloatFormat<TypeParam>::bias, bits = math::FloatFormat<TypeParam>::mantissa_bits;
  for (int i = 0; i < 1'000'000; ++i) {
    const TypeParam a = this->with_exponent(this->near(bias, 5)), b = this->with_exponent(this->near(bias, 5));
    this->expect_fma(a, b, this->with_exponent(this->near(bias, 2 * bits + 8)));
    this->expect_fma(a, b, -(a * b));  // the rounding error of the product
  }
}

TYPED_TEST(SoftFloat, Halfway) {
  using T = TypeParam;
  constexpr int bits = math::FloatFormat<T>::mantissa_bits, bias = math::FloatFormat<T>::bias;
  for (int i = 0; i < 300'000; ++i) {
    const T c = this->with_exponent(this->near(bias, 3));
    const T half_ulp = std::ldexp(T(1), std::ilogb(c) - bits - 1);
    const T nudge = std::ldexp(T(1), -bits);
    for (const T sign : {T(1), T(-1)}) {
      this->expect_fma(half_ulp, sign, c);
      this->expect_fma(half_ulp, sign * (1 + nudge), c);
      this->expect_fma(half_ulp, sign * (1 - nudge), c);
      this->expect_fma(half_ulp / 2, sign, c);  // halfway just below a power of two
    }
    // The last bit of (1 + odd 2^-k) (1 + odd 2^-l) lies one below the format where k + l is bits + 1.
    const T odd = T(this->random() % 1024 * 2 + 1);
    constexpr int k = (bits + 1) / 2, l = bits + 1 - k;
    this->expect_fma(1 + std::ldexp(odd, -k), 1 + std::ldexp(odd, -l), T(0));
  }
}

TYPED_TEST(SoftFloat, Subnormal) {
  using T = TypeParam;
  constexpr int bias = math::FloatFormat<T>::bias, bits = math::FloatFormat<T>::mantissa_bits;
  for (int i = 0; i < 500'000; ++i) {
    const int split = this->near(bias / 2, bias / 2 - bits);  // the product's exponent is then near the smallest
    const T a = this->with_exponent(split), b = this->with_exponent(this->near(bias - split, bits));
    const T tiny = this->with_exponent(static_cast<int>(this->random() % 3));
    this->expect_fma(a, b, tiny);
    this->expect_fma(a, b, T(0));
    this->expect_fma(tiny, T(0.5), T(0));
    this->expect_fma(tiny, this->with_exponent(bias), this->with_exponent(0));
    this->expect_sqrt(math::abs(this->with_exponent(0)));
  }
}

TYPED_TEST(SoftFloat, SquareRootsNextToSquares) {
  using T = TypeParam;
  for (int i = 0; i < 300'000; ++i) {
    const T root = this->with_exponent(this->near(math::FloatFormat<T>::bias, 20)), square = root * root;
    this->expect_sqrt(square);
    this->expect_sqrt(std::nextafter(square, T(0)));
    this->expect_sqrt(std::nextafter(square, math::infinity<T>()));
  }
}

TYPED_TEST(SoftFloat, SpecialValues) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T x : {T(0), Limits::denorm_min(), 3 * Limits::denorm_min(), Limits::min() - Limits::denorm_min(),
                    Limits::min(), Limits::epsilon(), Limits::epsilon() / 2, T(0.5), T(1) - Limits::epsilon() / 2, T(1),
                    T(1) + Limits::epsilon(), T(2), T(3), Limits::max() / 2, Limits::max(), Limits::infinity()})
    for (const T sign : {T(1), T(-1)}) values.push_back(sign * x);
  values.push_back(Limits::quiet_NaN());
  for (const T a : values) {
    this->expect_sqrt(a);
    for (const T b : values)
      for (const T c : values) this->expect_fma(a, b, c);
  }
}

}  // namespace soft_float_test
