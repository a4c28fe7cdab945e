#pragma once
#include <gradual/core/cpu/vec_registers.hpp>

namespace gradual::cpu {

// Uses compiler builtins: immintrin.h, which has names for them, takes g++ a third of a second to parse.

template <>
struct Lanes<float> {
  typedef float Register __attribute__((vector_size(64)));
  typedef Register Anywhere __attribute__((aligned(alignof(float)), may_alias));
  GRADUAL_INLINE static unsigned short first(std::int64_t count) { return static_cast<unsigned short>((1u << count) - 1); }
  GRADUAL_INLINE static Register load(const float* p, std::int64_t count, Register rest) {
    return __builtin_ia32_loadups512_mask(p, rest, first(count));
  }
  GRADUAL_INLINE static void store(float* p, std::int64_t count, Register v) {
    __builtin_ia32_storeups512_mask(p, v, first(count));
  }
  GRADUAL_INLINE static void keep(Register& v) { asm("" : "+v"(v)); }
#if !__has_builtin(__builtin_elementwise_fma)  // which newer compilers have instead
  GRADUAL_INLINE static Register fma(Register a, Register b, Register c) {
    return __builtin_ia32_vfmaddps512_mask(a, b, c, first(64 / sizeof(float)), 4);  // 4: the current rounding mode
  }
#endif
};

template <>
struct Lanes<double> {
  typedef double Register __attribute__((vector_size(64)));
  typedef Register Anywhere __attribute__((aligned(alignof(double)), may_alias));
  GRADUAL_INLINE static unsigned char first(std::int64_t count) { return static_cast<unsigned char>((1u << count) - 1); }
  GRADUAL_INLINE static Register load(const double* p, std::int64_t count, Register rest) {
    return __builtin_ia32_loadupd512_mask(p, rest, first(count));
  }
  GRADUAL_INLINE static void store(double* p, std::int64_t count, Register v) {
    __builtin_ia32_storeupd512_mask(p, v, first(count));
  }
  GRADUAL_INLINE static void keep(Register& v) { asm("" : "+v"(v)); }
#if !__has_builtin(__builtin_elementwise_fma)  // which newer compilers have instead
  GRADUAL_INLINE static Register fma(Register a, Register b, Register c) {
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, first(64 / sizeof(double)), 4);  // 4: the current rounding mode
  }
#endif
};

}  // namespace gradual::cpu
