#pragma once
#include <gradual/autodiff/scope.hpp>
#include <gradual/core/math/sqrt.hpp>

namespace gradual::init {

constexpr Initializer constant(double value) { return {Initializer::Kind::constant, value}; }
constexpr Initializer zeros() { return constant(0); }
constexpr Initializer uniform(double bound) { return {Initializer::Kind::uniform, bound}; }
constexpr Initializer normal(double deviation) { return {Initializer::Kind::normal, deviation}; }

namespace detail {
/// Returns √(numerator/fan), or −1, which is rejected later, for a fan below 1.
constexpr double root_over(double numerator, std::int64_t fan) {
  return fan > 0 ? math::sqrt(numerator / static_cast<double>(fan)) : -1;
}
}  // namespace detail

/// Uniform with variance 2/fan_in, for relu (He et al. 2015).
constexpr Initializer kaiming_uniform(std::int64_t fan_in) { return uniform(detail::root_over(6, fan_in)); }
constexpr Initializer kaiming_normal(std::int64_t fan_in) { return normal(detail::root_over(2, fan_in)); }

/// Uniform with variance 2/(fan_in + fan_out) (Glorot and Bengio 2010).
constexpr Initializer xavier_uniform(std::int64_t fan_in, std::int64_t fan_out) {
  return uniform(detail::root_over(6, fan_in + fan_out));
}
constexpr Initializer xavier_normal(std::int64_t fan_in, std::int64_t fan_out) {
  return normal(detail::root_over(2, fan_in + fan_out));
}

/// PyTorch's default for linear layers: uniform in ±1/√fan_in.
constexpr Initializer linear_default(std::int64_t fan_in) { return uniform(detail::root_over(1, fan_in)); }

}  // namespace gradual::init
