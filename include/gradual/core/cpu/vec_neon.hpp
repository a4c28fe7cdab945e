#pragma once
#include <arm_neon.h>

#include <gradual/core/cpu/vec.hpp>

namespace gradual::cpu {

template <>
struct Vec<float> {
  static constexpr int width = 4;
  float32x4_t v;
  GRADUAL_INLINE static Vec zero() { return {vdupq_n_f32(0)}; }
  GRADUAL_INLINE static Vec broadcast(float x) { return {vdupq_n_f32(x)}; }
  GRADUAL_INLINE static Vec load(const float* p) { return {vld1q_f32(p)}; }
  GRADUAL_INLINE static Vec load(const float* p, std::int64_t count) {
    Vec x = zero();
    if (count > 0) x.v = vsetq_lane_f32(p[0], x.v, 0);
    if (count > 1) x.v = vsetq_lane_f32(p[1], x.v, 1);
    if (count > 2) x.v = vsetq_lane_f32(p[2], x.v, 2);
    if (count > 3) x.v = vsetq_lane_f32(p[3], x.v, 3);
    return x;
  }
  GRADUAL_INLINE void store(float* p) const { vst1q_f32(p, v); }
  GRADUAL_INLINE void store(float* p, std::int64_t count) const {
    if (count > 0) p[0] = vgetq_lane_f32(v, 0);
    if (count > 1) p[1] = vgetq_lane_f32(v, 1);
    if (count > 2) p[2] = vgetq_lane_f32(v, 2);
    if (count > 3) p[3] = vgetq_lane_f32(v, 3);
  }
  GRADUAL_INLINE void keep() { asm("" : "+w"(v)); }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {vaddq_f32(a.v, b.v)}; }
};

template <>
struct Vec<double> {
  static constexpr int width = 2;
  float64x2_t v;
  GRADUAL_INLINE static Vec zero() { return {vdupq_n_f64(0)}; }
  GRADUAL_INLINE static Vec broadcast(double x) { return {vdupq_n_f64(x)}; }
  GRADUAL_INLINE static Vec load(const double* p) { return {vld1q_f64(p)}; }
  GRADUAL_INLINE static Vec load(const double* p, std::int64_t count) {
    Vec x = zero();
    if (count > 0) x.v = vsetq_lane_f64(p[0], x.v, 0);
    if (count > 1) x.v = vsetq_lane_f64(p[1], x.v, 1);
    return x;
  }
  GRADUAL_INLINE void store(double* p) const { vst1q_f64(p, v); }
  GRADUAL_INLINE void store(double* p, std::int64_t count) const {
    if (count > 0) p[0] = vgetq_lane_f64(v, 0);
    if (count > 1) p[1] = vgetq_lane_f64(v, 1);
  }
  GRADUAL_INLINE void keep() { asm("" : "+w"(v)); }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {vfmaq_f64(c.v, a.v, b.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {vaddq_f64(a.v, b.v)}; }
};

}  // namespace gradual::cpu
