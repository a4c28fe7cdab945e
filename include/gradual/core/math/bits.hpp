#pragma once
// Floating-point numbers seen as bits, and the selects on bits that keep loops free of branches.

#include <cstdint>
#include <type_traits>

#include <gradual/core/config.hpp>

namespace gradual::math {

/// The constants of an IEEE binary format: its integer type, its field widths and the shifter that rounds to an integer.
template <class T> struct FloatFormat;

template <> struct FloatFormat<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa_bits = 23, bias = 127;
  static constexpr float shifter = 12582912.0f;  // 1.5 * 2^23: adding it leaves a rounded integer in the low bits
};

template <> struct FloatFormat<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa_bits = 52, bias = 1023;
  static constexpr double shifter = 6755399441055744.0;  // 1.5 * 2^52
};

template <class T> using BitsOf = typename FloatFormat<T>::Bits;
template <class T> inline constexpr BitsOf<T> sign_bit = BitsOf<T>{1} << (sizeof(T) * 8 - 1);
template <class T>
inline constexpr BitsOf<T> infinity_bits = BitsOf<T>{2 * FloatFormat<T>::bias + 1} << FloatFormat<T>::mantissa_bits;

// The builtin behind std::bit_cast: unlike that function it needs no flag in device code.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr BitsOf<T> to_bits(T x) {
  return __builtin_bit_cast(BitsOf<T>, x);
}

template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T from_bits(BitsOf<T> bits) {
  return __builtin_bit_cast(T, bits);
}

template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T infinity() { return from_bits<T>(infinity_bits<T>); }

/// Returns the quiet NaN with sign 0 and an empty payload.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T quiet_nan() {
  return from_bits<T>(infinity_bits<T> | BitsOf<T>{1} << (FloatFormat<T>::mantissa_bits - 1));
}

/// Returns 2^n for an integer n in wrapping arithmetic, for normal results only.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T power_of_two(BitsOf<T> n) {
  return from_bits<T>((n + BitsOf<T>{FloatFormat<T>::bias}) << FloatFormat<T>::mantissa_bits);
}

/// Returns condition ? yes : no, by a mask: compilers turn a plain ?: and the work around it into branches, which then do not
/// vectorise.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T select(bool condition, T yes, T no) {
  const BitsOf<T> mask = BitsOf<T>{0} - static_cast<BitsOf<T>>(condition);
  return from_bits<T>((to_bits(yes) & mask) | (to_bits(no) & ~mask));
}
/// Returns the condition but hides its origin: nvcc turns x < 0 ? x : 0 into a minimum, which may give the other zero.
GRADUAL_HD GRADUAL_INLINE constexpr bool unseen(bool condition) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    int seen = condition;
    asm("" : "+r"(seen));
    condition = seen != 0;
  }
#endif
  return condition;
}
/// Returns 1 if the condition holds, else 0. A conversion of the condition would become a branch too.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T one_where(bool condition) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(condition);
  else return select(condition, T(1), T(0));
}

/// Returns |x|, also for zeros, infinities and NaN: clears the sign bit.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T abs(T x) { return from_bits<T>(to_bits(x) & ~sign_bit<T>); }

/// Returns the magnitude of `magnitude` with the sign bit of `sign`.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T copysign(T magnitude, T sign) {
  return from_bits<T>((to_bits(magnitude) & ~sign_bit<T>) | (to_bits(sign) & sign_bit<T>));
}

}  // namespace gradual::math
