#pragma once
#include <cstdint>
#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <gradual/core/config.hpp>
#include <gradual/core/math/fma.hpp>

namespace gradual::cpu {

/// One register of T: only what matrix products need. `count` lanes may be loaded or stored, the rest being zero.
template <class T>
struct Vec {
  static constexpr int width = 1;
  T v;
  GRADUAL_INLINE static Vec zero() { return {T(0)}; }
  GRADUAL_INLINE static Vec broadcast(T x) { return {x}; }
  GRADUAL_INLINE static Vec load(const T* p) { return {*p}; }
  GRADUAL_INLINE static Vec load(const T* p, std::int64_t count) { return {count > 0 ? *p : T(0)}; }
  GRADUAL_INLINE void store(T* p) const { *p = v; }
  GRADUAL_INLINE void store(T* p, std::int64_t count) const {
    if (count > 0) *p = v;
  }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {math::fma(a.v, b.v, c.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
};

#if defined(__AVX512F__)

template <>
struct Vec<float> {
  static constexpr int width = 16;
  __m512 v;
  GRADUAL_INLINE static __mmask16 first(std::int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }
  GRADUAL_INLINE static Vec zero() { return {_mm512_setzero_ps()}; }
  GRADUAL_INLINE static Vec broadcast(float x) { return {_mm512_set1_ps(x)}; }
  GRADUAL_INLINE static Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
  GRADUAL_INLINE static Vec load(const float* p, std::int64_t count) { return {_mm512_maskz_loadu_ps(first(count), p)}; }
  GRADUAL_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
  GRADUAL_INLINE void store(float* p, std::int64_t count) const { _mm512_mask_storeu_ps(p, first(count), v); }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
};

template <>
struct Vec<double> {
  static constexpr int width = 8;
  __m512d v;
  GRADUAL_INLINE static __mmask8 first(std::int64_t count) { return static_cast<__mmask8>((1u << count) - 1); }
  GRADUAL_INLINE static Vec zero() { return {_mm512_setzero_pd()}; }
  GRADUAL_INLINE static Vec broadcast(double x) { return {_mm512_set1_pd(x)}; }
  GRADUAL_INLINE static Vec load(const double* p) { return {_mm512_loadu_pd(p)}; }
  GRADUAL_INLINE static Vec load(const double* p, std::int64_t count) { return {_mm512_maskz_loadu_pd(first(count), p)}; }
  GRADUAL_INLINE void store(double* p) const { _mm512_storeu_pd(p, v); }
  GRADUAL_INLINE void store(double* p, std::int64_t count) const { _mm512_mask_storeu_pd(p, first(count), v); }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {_mm512_add_pd(a.v, b.v)}; }
};

#elif defined(__AVX2__)

template <>
struct Vec<float> {
  static constexpr int width = 8;
  __m256 v;
  GRADUAL_INLINE static __m256i first(std::int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  GRADUAL_INLINE static Vec zero() { return {_mm256_setzero_ps()}; }
  GRADUAL_INLINE static Vec broadcast(float x) { return {_mm256_set1_ps(x)}; }
  GRADUAL_INLINE static Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
  GRADUAL_INLINE static Vec load(const float* p, std::int64_t count) { return {_mm256_maskload_ps(p, first(count))}; }
  GRADUAL_INLINE void store(float* p) const { _mm256_storeu_ps(p, v); }
  GRADUAL_INLINE void store(float* p, std::int64_t count) const { _mm256_maskstore_ps(p, first(count), v); }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
};

template <>
struct Vec<double> {
  static constexpr int width = 4;
  __m256d v;
  GRADUAL_INLINE static __m256i first(std::int64_t count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  GRADUAL_INLINE static Vec zero() { return {_mm256_setzero_pd()}; }
  GRADUAL_INLINE static Vec broadcast(double x) { return {_mm256_set1_pd(x)}; }
  GRADUAL_INLINE static Vec load(const double* p) { return {_mm256_loadu_pd(p)}; }
  GRADUAL_INLINE static Vec load(const double* p, std::int64_t count) { return {_mm256_maskload_pd(p, first(count))}; }
  GRADUAL_INLINE void store(double* p) const { _mm256_storeu_pd(p, v); }
  GRADUAL_INLINE void store(double* p, std::int64_t count) const { _mm256_maskstore_pd(p, first(count), v); }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {_mm256_add_pd(a.v, b.v)}; }
};

#endif

/// Rows of a tile whose chains, two vectors wide, fit the registers.
#if defined(__AVX512F__)
inline constexpr int tile_rows = 12;
#else
inline constexpr int tile_rows = 6;
#endif

}  // namespace gradual::cpu
