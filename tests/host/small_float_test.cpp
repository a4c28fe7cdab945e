// Numbers of 16 bits: the value of each bit pattern, and the pattern that each float rounds to; sums in pairs of them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <gradual/core/compensated.hpp>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace small_float_test {

using namespace gradual;
using math::to_bits;

template <class Small>
constexpr Small small(std::uint32_t bits) {
  Small s;
  s.bits = static_cast<std::uint16_t>(bits);
  return s;
}

struct Bf16 {
  using Type = bf16;
  static constexpr int mantissa = 7, bias = 127;
};
struct F16 {
  using Type = f16;
  static constexpr int mantissa = 10, bias = 15;
};

template <class Format>
struct SmallFloats : testing::Test {
  using Small = typename Format::Type;
  static constexpr std::uint32_t infinity = 0x8000u - (1u << Format::mantissa);
  static constexpr float inf = std::numeric_limits<float>::infinity();

  /// Returns the value of a bit pattern by the definition of the format.
  static double value(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> Format::mantissa & 0xffu >> (Format::mantissa - 7));
    const auto mantissa = static_cast<double>(bits & ((1u << Format::mantissa) - 1));
    return std::ldexp(exponent > 0 ? mantissa + (1 << Format::mantissa) : mantissa,
                      std::max(exponent, 1) - Format::bias - Format::mantissa);
  }
  static std::uint32_t rounded(float x) { return Small(x).bits; }
};
using Formats = testing::Types<Bf16, F16>;
TYPED_TEST_SUITE(SmallFloats, Formats);

TYPED_TEST(SmallFloats, EveryPatternIsAFloatAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto x = static_cast<float>(small<typename TypeParam::Type>(bits));
    ASSERT_EQ(this->rounded(x), bits);
    ASSERT_EQ(std::signbit(x), bits >= 0x8000u);
    const std::uint32_t size = bits & 0x7fffu;
    if (size < this->infinity) ASSERT_EQ(std::fabs(x), this->value(size)) << bits;
    else if (size == this->infinity) ASSERT_EQ(std::fabs(x), this->inf);
    else ASSERT_TRUE(std::isnan(x)) << bits;
  }
}

TYPED_TEST(SmallFloats, WhatLiesBetweenTwoGoesToTheNearerAndTiesToTheEven) {
  for (std::uint32_t bits = 0; bits < this->infinity; ++bits) {
    const double below = this->value(bits);
    const double above = bits + 1 < this->infinity ? this->value(bits + 1) : 2 * below - this->value(bits - 1);
    const auto middle = static_cast<float>((below + above) / 2);
    ASSERT_EQ(static_cast<double>(middle), (below + above) / 2);
    ASSERT_EQ(this->rounded(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(this->rounded(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(this->rounded(std::nextafter(middle, this->inf)), bits + 1);
    ASSERT_EQ(this->rounded(-middle), 0x8000u + bits + (bits & 1));
  }
}

TYPED_TEST(SmallFloats, FarOutsideAreInfinitiesZerosAndNaN) {
  EXPECT_EQ(this->rounded(this->inf), this->infinity);
  EXPECT_EQ(this->rounded(std::numeric_limits<float>::max()), this->infinity);
  EXPECT_EQ(this->rounded(std::numeric_limits<float>::denorm_min()), 0u);
  EXPECT_EQ(this->rounded(-std::numeric_limits<float>::denorm_min()), 0x8000u);
  for (const std::uint32_t payload : {1u, 0x1000u, 0x7fffffu}) {
    const std::uint32_t found = this->rounded(math::from_bits<float>(0xff800000u | payload));
    EXPECT_GT(found, 0x8000u + this->infinity) << payload;
  }
}

template <class Small>
constexpr bool rounds_in_constants() {
  return static_cast<float>(Small(1.0f)) == 1 && static_cast<float>(Small(-0x1.8p-14f)) == -0x1.8p-14f &&
         static_cast<float>(Small(0x1p-24f)) == 0x1p-24f && static_cast<float>(Small(0x1.002p0f)) == 1;
}
static_assert(rounds_in_constants<bf16>() && rounds_in_constants<f16>());

#if defined(__F16C__)
TEST(SmallFloat, HalvesAreTheProcessors) {
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 4093) {
    const float x = math::from_bits<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(x)) continue;
    ASSERT_EQ(f16(x).bits, _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)) << bits;
  }
}
#endif

/// Returns a running sum without compensation, which stops growing at some count.
template <class Small>
constexpr float plain_sum_of_ones(int count) {
  Small sum;
  for (int i = 0; i < count; ++i) sum = Small(static_cast<float>(sum) + 1);
  return static_cast<float>(sum);
}
template <class Small>
constexpr float sum_of_ones(int count) {
  Compensated<Small> sum;
  for (int i = 0; i < count; ++i) sum += 1;
  return sum.value();
}

TEST(SmallFloat, SumsOfOnesNeedTheirCompensation) {  // case 5
  static_assert(plain_sum_of_ones<bf16>(1024) == 256 && sum_of_ones<bf16>(1024) == 1024);
  static_assert(plain_sum_of_ones<f16>(4096) == 2048 && sum_of_ones<f16>(4096) == 4096);
  EXPECT_EQ(sum_of_ones<bf16>(1 << 17), 0x1p17f);
  EXPECT_EQ(sum_of_ones<bf16>(1 << 18), 0x1p17f + 256);  // a pair has 17 binary digits, not 24
  EXPECT_EQ(sum_of_ones<f16>(65000), 65000);
  EXPECT_FALSE(math::is_finite(Compensated<f16>::of(70000)));  // beyond the range of f16
  EXPECT_FALSE(math::is_finite(Compensated<bf16>::of(std::numeric_limits<float>::max())));
}

TYPED_TEST(SmallFloats, TwoOfThemAreExactlyAFloatThatSaysAll) {
  using Pair = Compensated<typename TypeParam::Type>;
  const double lost = std::ldexp(1, TypeParam::mantissa == 7 ? -17 : -23);
  Pair sum;
  std::uint32_t random = 1;
  for (int i = 0; i < 200'000; ++i) {
    random = random * 1664525u + 1013904223u;
    const float x = static_cast<float>(static_cast<std::int32_t>(random)) * 0x1p-28f, before = sum.value();
    sum += x;
    const double exact = static_cast<double>(float(sum.high)) + static_cast<double>(float(sum.low));
    ASSERT_EQ(static_cast<double>(sum.value()), exact);
    ASSERT_EQ(Pair::of(sum.value()).value(), sum.value());
    ASSERT_LE(std::fabs(exact - static_cast<double>(before + x)), lost * std::fabs(exact) + 0x1p-25);
  }
}

}  // namespace small_float_test
