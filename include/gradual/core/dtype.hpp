#pragma once
#include <cstdint>
#include <type_traits>

#include <gradual/core/small_float.hpp>

namespace gradual {

/// The type of a value's elements.
enum class DType : unsigned char { f32, f64, i32, bf16, f16, u8 };

using bf16 = SmallFloat<7>;  ///< the upper half of a float: its range, 8 binary digits
using f16 = SmallFloat<10>;  ///< IEEE 754 binary16, "half": up to 65504, 11 binary digits
template <class T>
inline constexpr bool is_small_float = std::is_same_v<T, bf16> || std::is_same_v<T, f16>;

/// Whether elements have 16 bits: they are stored in their type and computed in float, each result rounded.
constexpr bool is_small(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }
/// Returns the type in which elements are computed and their sums over samples are held.
constexpr DType computed_in(DType dtype) { return is_small(dtype) ? DType::f32 : dtype; }

constexpr std::int64_t size_of(DType dtype) {
  return dtype == DType::f64 ? 8 : is_small(dtype) ? 2 : dtype == DType::u8 ? 1 : 4;
}

constexpr const char* name_of(DType dtype) {
  constexpr const char* names[] = {"float", "double", "int32", "bf16", "f16", "uint8"};
  return names[static_cast<int>(dtype)];
}

namespace detail {
template <class T>
constexpr DType find_dtype() {
  constexpr bool wide = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>;
  static_assert(wide || is_small_float<T>,
                "values are f32, f64, i32, bf16 or f16, inputs of compiled nets also u8: "
                "convert labels of other integer types to i32");
  return std::is_same_v<T, float>    ? DType::f32
         : std::is_same_v<T, double> ? DType::f64
         : std::is_same_v<T, bf16>   ? DType::bf16
         : std::is_same_v<T, f16>    ? DType::f16
                                     : DType::i32;
}
}  // namespace detail
template <class T>
inline constexpr DType dtype_of = detail::find_dtype<T>();

namespace detail {
// Templates of their own, not std::conditional_t: g++ compares conditionals of dependent types each with all others.
template <DType>
struct ElementFor : std::type_identity<std::int32_t> {};
template <>
struct ElementFor<DType::f32> : std::type_identity<float> {};
template <>
struct ElementFor<DType::f64> : std::type_identity<double> {};
template <>
struct ElementFor<DType::bf16> : std::type_identity<bf16> {};
template <>
struct ElementFor<DType::f16> : std::type_identity<f16> {};
template <>
struct ElementFor<DType::u8> : std::type_identity<std::uint8_t> {};

template <class E>
struct ComputedFrom : std::type_identity<E> {};
template <class E>
  requires(is_small_float<E> || std::is_same_v<E, std::uint8_t>)
struct ComputedFrom<E> : std::type_identity<float> {};
}  // namespace detail

/// The C++ type of elements in memory, and the type in which they are computed.
template <DType D>
using ElementOf = typename detail::ElementFor<D>::type;
template <class E>
using Computed = typename detail::ComputedFrom<E>::type;

/// Converts a number to an element of type E, then to the type in which that is computed: rounded if E has 16 bits.
template <class E, class X>
GRADUAL_HD GRADUAL_INLINE constexpr Computed<E> rounded_to(X x) {
  if constexpr (is_small_float<E>) return static_cast<float>(E(static_cast<float>(x)));
  else return static_cast<E>(x);
}

}  // namespace gradual
