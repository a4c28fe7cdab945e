#pragma once
#include <concepts>

#include <gradual/core/cpu/copy_few.hpp>
#include <gradual/core/cpu/vec.hpp>

namespace gradual::cpu {

/// The registers of one kind of processor for T: a register as a vector type of g++ and clang, the same type for any address in
/// memory, and the operations for which such vectors have no operator.
template <class T>
struct Lanes;

template <std::floating_point T>
struct Vec<T> {
  using Register = typename Lanes<T>::Register;
  using Anywhere = typename Lanes<T>::Anywhere;
  static constexpr int width = sizeof(Register) / sizeof(T);
  static constexpr bool stores_parts = requires { &Lanes<T>::store; };
  Register v;
  GRADUAL_INLINE static Vec zero() { return {Register{}}; }
  GRADUAL_INLINE static Vec broadcast(T x) { return {x - Register{}}; }
  GRADUAL_INLINE static Vec load(const T* p) { return {*reinterpret_cast<const Anywhere*>(p)}; }
  GRADUAL_INLINE static Vec load(const T* p, std::int64_t count, Vec rest = zero()) {
    return {Lanes<T>::load(p, count, rest.v)};
  }
  GRADUAL_INLINE void store(T* p) const { *reinterpret_cast<Anywhere*>(p) = v; }
  GRADUAL_INLINE void store(T* p, std::int64_t count) const {
    if constexpr (stores_parts) {
      Lanes<T>::store(p, count, v);
    } else {
      T lanes[width];
      store(lanes);
      copy_few<width>(lanes, count, p);
    }
  }
  GRADUAL_INLINE void keep() { Lanes<T>::keep(v); }
  GRADUAL_INLINE friend Vec fma(Vec a, Vec b, Vec c) {
#if __has_builtin(__builtin_elementwise_fma)
    return {__builtin_elementwise_fma(a.v, b.v, c.v)};
#else
    return {Lanes<T>::fma(a.v, b.v, c.v)};
#endif
  }
  GRADUAL_INLINE friend Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
};

}  // namespace gradual::cpu
