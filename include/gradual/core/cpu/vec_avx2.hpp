#pragma once
#include <immintrin.h>

#include <gradual/core/cpu/vec.hpp>

namespace gradual::cpu {

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
  GRADUAL_INLINE void keep() { asm("" : "+v"(v)); }
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
  GRADUAL_INLINE void keep() { asm("" : "+v"(v)); }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {_mm256_add_pd(a.v, b.v)}; }
};

}  // namespace gradual::cpu
