#pragma once
#include <cstddef>
#include <cstdint>

namespace gradual {

/// The type of a value's elements.
enum class DType : unsigned char { f32, f64, i32 };

constexpr std::size_t size_of(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

constexpr const char* name_of(DType dtype) {
  return dtype == DType::f32 ? "float" : dtype == DType::f64 ? "double" : "int32";
}

template <class T>
inline constexpr DType dtype_of = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;

}  // namespace gradual
