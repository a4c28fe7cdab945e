#pragma once
// What the compiler must be told so that bits depend on nothing but the numbers, checked where it can be.

#if defined(__CUDACC__)
#define GRADUAL_HD __host__ __device__
/// In front of a GRADUAL_HD template that calls what it is given: that may be for one side only, as its caller is.
#define GRADUAL_EITHER_SIDE _Pragma("nv_exec_check_disable")
#else
#define GRADUAL_HD
#define GRADUAL_EITHER_SIDE
#endif

#define GRADUAL_INLINE inline __attribute__((always_inline))

/// In front of a function in an .ipp file that the header of its name declares: each source has it, or gradual::kernels alone,
/// for sources that link that. In a header, of virtual functions alone: else the table of them would be part of every program.
#ifdef GRADUAL_SHARED_KERNELS
#define GRADUAL_ONCE
#else
#define GRADUAL_ONCE inline
#endif

/// In front of a kernel: it begins with a cache line, so that its time does not depend on what lies before it.
#if defined(__CUDACC__)
#define GRADUAL_KERNEL_CODE
#else
#define GRADUAL_KERNEL_CODE __attribute__((aligned(64)))
#endif

/// In front of a loop whose iterations touch different elements: compilers need not prove it. Never where a sum, or another
/// value, goes from one iteration to the next: clang would reorder it. It would also unroll short ones before it makes vectors.
#if defined(__clang__)
#define GRADUAL_IVDEP _Pragma("clang loop vectorize(assume_safety) unroll(disable)")
#elif defined(__GNUC__)
#define GRADUAL_IVDEP _Pragma("GCC ivdep")
#else
#define GRADUAL_IVDEP
#endif

/// Around loops some of which are not vectorised: clang would warn of each.
#if defined(__clang__)
#define GRADUAL_BEGIN_LOOPS _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpass-failed\"")
#define GRADUAL_END_LOOPS _Pragma("clang diagnostic pop")
#else
#define GRADUAL_BEGIN_LOOPS
#define GRADUAL_END_LOOPS
#endif

/// In front of a loop: repeats its body so many times, as constants of the loop's count allow.
#define GRADUAL_PRAGMA(text) _Pragma(#text)
#if defined(__CUDACC__)
#define GRADUAL_UNROLL(count) GRADUAL_PRAGMA(unroll count)
#else
#define GRADUAL_UNROLL(count) GRADUAL_PRAGMA(GCC unroll count)
#endif

/// Behind GRADUAL_IVDEP: leaves the loop one, of which vectors can be made. With clang that has said so, and a count of 1 would
/// apply to what comes of vectors.
#if defined(__clang__)
#define GRADUAL_KEEP_LOOP
#else
#define GRADUAL_KEEP_LOOP GRADUAL_UNROLL(1)
#endif

#if !defined(__cpp_exceptions) && !defined(__CUDACC__)
#error "gradual: errors are exceptions: remove -fno-exceptions"
#endif
#if defined(_GLIBCXX_DEBUG)
#error "gradual: what libstdc++ makes of containers in debug mode cannot run in the compiler: -D_GLIBCXX_ASSERTIONS can"
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "gradual: unsafe math options change results: remove -ffast-math, -Ofast and their like"
#endif

#if defined(__x86_64__) && !defined(__FMA__) && !defined(__CUDA_ARCH__)
#error "gradual: no hardware FMA is enabled: add -march=native (or -march=x86-64-v3) and -ffp-contract=off"
#endif

static_assert(sizeof(1.0) == sizeof(double), "gradual: constants are rounded to float: remove -fsingle-precision-constant");
