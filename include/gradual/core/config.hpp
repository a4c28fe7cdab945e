#pragma once
// Tells the compiler what it needs so that bits depend on nothing but the numbers, and checks its options where possible.

#if defined(__CUDACC__)
#define GRADUAL_HD __host__ __device__
/// In front of a GRADUAL_HD template that calls its argument, which may be for one side only, like the template's caller.
#define GRADUAL_EITHER_SIDE _Pragma("nv_exec_check_disable")
#else
#define GRADUAL_HD
#define GRADUAL_EITHER_SIDE
#endif

#define GRADUAL_INLINE inline __attribute__((always_inline))

/// In front of a function in an .ipp file, declared in the header of the same name: each source holds its code, or only
/// gradual::kernels if sources link that. In a header, for virtual functions only: else every program would hold their table.
#ifdef GRADUAL_SHARED_KERNELS
#define GRADUAL_ONCE
#else
#define GRADUAL_ONCE inline
#endif

/// Whether loops run op by op, in code that all nets share, instead of being compiled with each net: to the same bits. Where
/// gradual::kernels has that code, unoptimised sources compile in half the time and train many times as fast.
#ifndef GRADUAL_INTERPRETED_LOOPS
#if defined(GRADUAL_SHARED_KERNELS) && !defined(__OPTIMIZE__)
#define GRADUAL_INTERPRETED_LOOPS 1
#else
#define GRADUAL_INTERPRETED_LOOPS 0
#endif
#endif

/// In front of a kernel: aligns it to a cache line, so that its time does not depend on the code before it.
#if defined(__CUDACC__)
#define GRADUAL_KERNEL_CODE
#else
#define GRADUAL_KERNEL_CODE __attribute__((aligned(64)))
#endif

/// In front of a loop whose iterations touch different elements: compilers need not prove it. Never where a sum or another
/// value is carried between iterations: clang would reorder it. It would also unroll short loops before vectorising them.
#if defined(__clang__)
#define GRADUAL_IVDEP _Pragma("clang loop vectorize(assume_safety) unroll(disable)")
#else
#define GRADUAL_IVDEP _Pragma("GCC ivdep")
#endif

/// Around loops some of which are not vectorised: clang would warn about each of them.
#if defined(__clang__)
#define GRADUAL_BEGIN_LOOPS _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpass-failed\"")
#define GRADUAL_END_LOOPS _Pragma("clang diagnostic pop")
#else
#define GRADUAL_BEGIN_LOOPS
#define GRADUAL_END_LOOPS
#endif

/// In front of a loop: unrolls it `count` times, or fully if it has a constant number of iterations that is no larger.
#define GRADUAL_PRAGMA(text) _Pragma(#text)
#if defined(__CUDACC__)
#define GRADUAL_UNROLL(count) GRADUAL_PRAGMA(unroll count)
#else
#define GRADUAL_UNROLL(count) GRADUAL_PRAGMA(GCC unroll count)
#endif

/// After GRADUAL_IVDEP: keeps the loop a loop, so that it can be vectorised. For clang GRADUAL_IVDEP does so, and a count of 1
/// would apply to the vectorised loop.
#if defined(__clang__)
#define GRADUAL_KEEP_LOOP
#else
#define GRADUAL_KEEP_LOOP GRADUAL_UNROLL(1)
#endif

#if defined(_WIN32) && !defined(__clang__)
#error "gradual: on Windows use clang++: g++ keeps vectors on a stack that is not aligned for them (GCC bug 54412)"
#endif
#if defined(_WIN32) && defined(__clang__) && !(defined(__MINGW32__) && defined(_WIN64))
#error "gradual: on Windows use the libraries of 64-bit MinGW-w64: clang++ --target=x86_64-w64-mingw32"
#endif
#if !defined(__cpp_exceptions) && !defined(__CUDACC__)
#error "gradual: errors are exceptions: remove -fno-exceptions"
#endif
#if defined(_GLIBCXX_DEBUG)
#error "gradual: libstdc++'s debug containers do not work at compile time: use -D_GLIBCXX_ASSERTIONS, not -D_GLIBCXX_DEBUG"
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "gradual: unsafe math options change results: remove -ffast-math, -Ofast and the like"
#endif

#if defined(__x86_64__) && !defined(__FMA__) && !defined(__CUDA_ARCH__)
#error "gradual: no hardware FMA is enabled: add -march=native (or -march=x86-64-v3) and -ffp-contract=off"
#endif

static_assert(sizeof(1.0) == sizeof(double), "gradual: constants are rounded to float: remove -fsingle-precision-constant");
