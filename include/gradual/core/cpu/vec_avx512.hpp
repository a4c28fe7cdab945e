#pragma once
#include <immintrin.h>

#include <gradual/core/cpu/vec.hpp>

namespace gradual::cpu {

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
  GRADUAL_INLINE void keep() { asm("" : "+v"(v)); }
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
  GRADUAL_INLINE void keep() { asm("" : "+v"(v)); }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {_mm512_add_pd(a.v, b.v)}; }
};

}  // namespace gradual::cpu
