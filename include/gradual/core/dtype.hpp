#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gradual {

/// The type of a value's elements.
enum class DType : unsigned char { f32, f64, i32 };

constexpr std::size_t size_of(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

constexpr const char* name_of(DType dtype) {
  return dtype == DType::f32 ? "float" : dtype == DType::f64 ? "double" : "int32";
}

template <class T>
  requires(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>)
inline constexpr DType dtype_of = std::is_same_v<T, float>    ? DType::f32
                                  : std::is_same_v<T, double> ? DType::f64
                                                              : DType::i32;

}  // namespace gradual
