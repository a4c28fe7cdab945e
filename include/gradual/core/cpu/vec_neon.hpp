#pragma once
#include <arm_neon.h>

#include <gradual/core/cpu/copy_few.hpp>
#include <gradual/core/cpu/vec_registers.hpp>

namespace gradual::cpu {

template <>
struct Lanes<float> {
  static constexpr bool stores_parts = false;
  typedef float Register __attribute__((vector_size(16)));
  typedef Register Anywhere __attribute__((aligned(alignof(float)), may_alias));
  GRADUAL_INLINE static Register load(const float* p, std::int64_t count, Register x) {
    if (count > 0) x[0] = p[0];
    if (count > 1) x[1] = p[1];
    if (count > 2) x[2] = p[2];
    if (count > 3) x[3] = p[3];
    return x;
  }
  GRADUAL_INLINE static void store(float* p, std::int64_t count, Register v) {
    float lanes[sizeof(Register) / sizeof(float)];
    __builtin_memcpy(lanes, &v, sizeof(v));
    copy_few<sizeof(Register) / sizeof(float)>(lanes, count, p);
  }
  GRADUAL_INLINE static void keep(Register& v) { asm("" : "+w"(v)); }
  GRADUAL_INLINE static Register fma(Register a, Register b, Register c) { return vfmaq_f32(c, a, b); }
};

template <>
struct Lanes<double> {
  static constexpr bool stores_parts = false;
  typedef double Register __attribute__((vector_size(16)));
  typedef Register Anywhere __attribute__((aligned(alignof(double)), may_alias));
  GRADUAL_INLINE static Register load(const double* p, std::int64_t count, Register x) {
    if (count > 0) x[0] = p[0];
    if (count > 1) x[1] = p[1];
    return x;
  }
  GRADUAL_INLINE static void store(double* p, std::int64_t count, Register v) {
    double lanes[sizeof(Register) / sizeof(double)];
    __builtin_memcpy(lanes, &v, sizeof(v));
    copy_few<sizeof(Register) / sizeof(double)>(lanes, count, p);
  }
  GRADUAL_INLINE static void keep(Register& v) { asm("" : "+w"(v)); }
  GRADUAL_INLINE static Register fma(Register a, Register b, Register c) { return vfmaq_f64(c, a, b); }
};

}  // namespace gradual::cpu
