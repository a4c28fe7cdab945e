#pragma once
#include <cstdint>
#include <initializer_list>

#include <gradual/autodiff/given.hpp>

// Every function that derivative rules may use, declared once so that the files under ops/ need no order.

namespace gradual {

using Axes = std::initializer_list<int>;

/// Returns the type of a value's adjoint: the value's, but float for one of 16 bits without samples, whose adjoint is a sum.
constexpr DType adjoint_type(Var x) { return x.shape().batched() ? x.dtype() : computed_in(x.dtype()); }

constexpr Var constant_like(Var like, double value);
constexpr Var iota(Var like, int axis);
constexpr Var broadcast(Var x, const Shape& shape);
constexpr Var convert(Var x, DType dtype);
template <class = void>  // so that gradual::kernels can have the code
constexpr Var reshape(Var x, const Shape& shape);
constexpr Var transpose(Var x, Axes permutation);
constexpr Var slice(Var x, int axis, std::int64_t first, std::int64_t count);
constexpr Var pad(Var x, int axis, std::int64_t before, std::int64_t after, double value = 0);
constexpr Var reduce_to(Var x, const Shape& shape);
constexpr Var sum(Var x, Axes axes, bool keep = false);
constexpr Var mean(Var x, Axes axes, bool keep = false);
constexpr Var max(Var x, Axes axes, bool keep = false);
constexpr Var min(Var x, Axes axes, bool keep = false);
constexpr Var argmax(Var x, int axis = -1);
template <class = void>  // so that gradual::kernels can have the code
constexpr Var matmul(Var a, Var b, bool transpose_a = false, bool transpose_b = false);

constexpr Var operator+(Var a, Var b);
constexpr Var operator-(Var a, Var b);
constexpr Var operator*(Var a, Var b);
constexpr Var operator/(Var a, Var b);
constexpr Var operator-(Var x);
constexpr Var operator<(Var a, Var b);
constexpr Var operator<=(Var a, Var b);
constexpr Var operator==(Var a, Var b);
constexpr Var where(Var condition, Var yes, Var no);
constexpr Var where(Var condition, double yes, double no);
constexpr Var strong_mul(Var g, Var d);
constexpr Var strong_divide(Var g, Var d);
constexpr Var quotient(Var a, Var b);

constexpr Var operator+(Var a, double b) { return a + constant_like(a, b); }
constexpr Var operator+(double a, Var b) { return constant_like(b, a) + b; }
constexpr Var operator-(Var a, double b) { return a - constant_like(a, b); }
constexpr Var operator-(double a, Var b) { return constant_like(b, a) - b; }
constexpr Var operator*(Var a, double b) { return a * constant_like(a, b); }
constexpr Var operator*(double a, Var b) { return constant_like(b, a) * b; }
constexpr Var operator/(Var a, double b) { return a / constant_like(a, b); }
constexpr Var operator/(double a, Var b) { return constant_like(b, a) / b; }
template <class B>
constexpr Var& operator+=(Var& a, B b) { return a = a + b; }
template <class B>
constexpr Var& operator-=(Var& a, B b) { return a = a - b; }
template <class B>
constexpr Var& operator*=(Var& a, B b) { return a = a * b; }
template <class B>
constexpr Var& operator/=(Var& a, B b) { return a = a / b; }
constexpr Var operator<(Var a, double b) { return a < constant_like(a, b); }
constexpr Var operator<(double a, Var b) { return constant_like(b, a) < b; }
constexpr Var operator>(Var a, Var b) { return b < a; }
constexpr Var operator>(Var a, double b) { return constant_like(a, b) < a; }
constexpr Var operator>(double a, Var b) { return b < constant_like(b, a); }
constexpr Var operator<=(Var a, double b) { return a <= constant_like(a, b); }
constexpr Var operator<=(double a, Var b) { return constant_like(b, a) <= b; }
constexpr Var operator>=(Var a, Var b) { return b <= a; }
constexpr Var operator>=(Var a, double b) { return constant_like(a, b) <= a; }
constexpr Var operator>=(double a, Var b) { return b <= constant_like(b, a); }
constexpr Var operator==(Var a, double b) { return a == constant_like(a, b); }
constexpr Var operator==(double a, Var b) { return b == a; }
constexpr Var operator!=(Var a, Var b) { return 1.0 - (a == b); }
constexpr Var operator!=(Var a, double b) { return 1.0 - (a == b); }
constexpr Var operator!=(double a, Var b) { return 1.0 - (b == a); }
constexpr Var where(Var condition, Var yes, double no) { return where(condition, yes, constant_like(yes, no)); }
constexpr Var where(Var condition, double yes, Var no) { return where(condition, constant_like(no, yes), no); }

constexpr Var exp(Var x);
constexpr Var log(Var x);
constexpr Var sqrt(Var x);
constexpr Var tanh(Var x);
constexpr Var sigmoid(Var x);
constexpr Var relu(Var x);
constexpr Var abs(Var x);
constexpr Var sin(Var x);
constexpr Var cos(Var x);
constexpr Var maximum(Var a, Var b);
constexpr Var stop_gradient(Var x);

/// Returns a value in the type in which it is computed: float where it has 16 bits.
constexpr Var widened(Var x) { return x.valid() ? convert(x, computed_in(x.dtype())) : x; }

/// Returns f(x) in x's type, computed in float where x has 16 bits: for what would overflow or lose digits step by step.
template <class F>
constexpr Var in_float(Var x, F f) {
  return x.valid() && is_small(x.dtype()) ? convert(f(widened(x)), x.dtype()) : f(x);
}

}  // namespace gradual
