#pragma once
#include <arm_neon.h>

#include <gradual/core/cpu/vec_registers.hpp>

namespace gradual::cpu {

template <>
struct Lanes<float> {
  typedef float Register __attribute__((vector_size(16)));
  typedef Register Anywhere __attribute__((aligned(alignof(float)), may_alias));
  GRADUAL_INLINE static Register load(const float* p, std::int64_t count, Register x) {
    if (count > 0) x[0] = p[0];
    if (count > 1) x[1] = p[1];
    if (count > 2) x[2] = p[2];
    if (count > 3) x[3] = p[3];
    return x;
  }
  GRADUAL_INLINE static void keep(Register& v) { asm("" : "+w"(v)); }
  GRADUAL_INLINE static Register fma(Register a, Register b, Register c) { return vfmaq_f32(c, a, b); }
};

template <>
struct Lanes<double> {
  typedef double Register __attribute__((vector_size(16)));
  typedef Register Anywhere __attribute__((aligned(alignof(double)), may_alias));
  GRADUAL_INLINE static Register load(const double* p, std::int64_t count, Register x) {
    if (count > 0) x[0] = p[0];
    if (count > 1) x[1] = p[1];
    return x;
  }
  GRADUAL_INLINE static void keep(Register& v) { asm("" : "+w"(v)); }
  GRADUAL_INLINE static Register fma(Register a, Register b, Register c) { return vfmaq_f64(c, a, b); }
};

}  // namespace gradual::cpu
