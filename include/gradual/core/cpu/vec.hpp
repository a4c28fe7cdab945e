#pragma once
#include <cstdint>

#include <gradual/core/config.hpp>
#include <gradual/core/math/fma.hpp>

namespace gradual::cpu {

/// One register of T, here of one number, with only what matrix products and ends of rows need. `count` lanes may be loaded or
/// stored; lanes not loaded are those of `rest`, by default zero. `stores_parts`: whether storing a part is as fast as storing
/// all. `keep` holds a vector in its register: g++ would read it from memory again at each use.
template <class T>
struct Vec {
  static constexpr int width = 1;
  static constexpr bool stores_parts = false;
  T v;
  GRADUAL_INLINE static Vec zero() { return {T(0)}; }
  GRADUAL_INLINE static Vec broadcast(T x) { return {x}; }
  GRADUAL_INLINE static Vec load(const T* p) { return {*p}; }
  GRADUAL_INLINE static Vec load(const T* p, std::int64_t count, Vec rest = zero()) { return count > 0 ? load(p) : rest; }
  GRADUAL_INLINE void store(T* p) const { *p = v; }
  GRADUAL_INLINE void store(T* p, std::int64_t count) const {
    if (count > 0) *p = v;
  }
  GRADUAL_INLINE void keep() {}
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) { return {math::fma(a.v, b.v, c.v)}; }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
};

}  // namespace gradual::cpu
