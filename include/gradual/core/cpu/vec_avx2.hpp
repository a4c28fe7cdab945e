#pragma once
#include <gradual/core/cpu/vec_registers.hpp>

namespace gradual::cpu {

// Uses compiler builtins: immintrin.h, which has names for them, takes g++ a third of a second to parse. There is no store of a
// part: a masked one takes Zen 3 twelve cycles.

template <>
struct Lanes<float> {
  typedef float Register __attribute__((vector_size(32)));
  typedef Register Anywhere __attribute__((aligned(alignof(float)), may_alias));
  typedef int Mask __attribute__((vector_size(32)));
  GRADUAL_INLINE static Mask first(std::int64_t count) { return Mask{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int>(count); }
  GRADUAL_INLINE static Register load(const float* p, std::int64_t count, Register rest) {
    return first(count) ? __builtin_ia32_maskloadps256(reinterpret_cast<const Register*>(p), first(count)) : rest;
  }
  GRADUAL_INLINE static void keep(Register& v) { asm("" : "+v"(v)); }
#if !__has_builtin(__builtin_elementwise_fma)  // which newer compilers have instead
  GRADUAL_INLINE static Register fma(Register a, Register b, Register c) {
    return __builtin_ia32_vfmaddps256(a, b, c);
  }
#endif
};

template <>
struct Lanes<double> {
  typedef double Register __attribute__((vector_size(32)));
  typedef Register Anywhere __attribute__((aligned(alignof(double)), may_alias));
  typedef long long Mask __attribute__((vector_size(32)));
  GRADUAL_INLINE static Mask first(std::int64_t count) { return Mask{0, 1, 2, 3} < static_cast<long long>(count); }
  GRADUAL_INLINE static Register load(const double* p, std::int64_t count, Register rest) {
    return first(count) ? __builtin_ia32_maskloadpd256(reinterpret_cast<const Register*>(p), first(count)) : rest;
  }
  GRADUAL_INLINE static void keep(Register& v) { asm("" : "+v"(v)); }
#if !__has_builtin(__builtin_elementwise_fma)  // which newer compilers have instead
  GRADUAL_INLINE static Register fma(Register a, Register b, Register c) {
    return __builtin_ia32_vfmaddpd256(a, b, c);
  }
#endif
};

}  // namespace gradual::cpu
