#pragma once
// What the compiler must be told for contract 3 (bits that depend on nothing but the numbers), checked where it can be.

#if defined(__CUDACC__)
#define GRADUAL_HD __host__ __device__
#else
#define GRADUAL_HD
#endif

#define GRADUAL_INLINE inline __attribute__((always_inline))

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "gradual: unsafe math options change results: remove -ffast-math, -Ofast and -ffinite-math-only"
#endif

#if defined(__x86_64__) && !defined(__FMA__) && !defined(__CUDA_ARCH__)
#error "gradual: no hardware FMA is enabled: add -march=native (or -march=x86-64-v3) and -ffp-contract=off"
#endif
