#pragma once
#include <gradual/autodiff/scope.hpp>
#include <gradual/core/math/sqrt.hpp>

namespace gradual::init {

constexpr Initializer constant(double value) { return {Initializer::Kind::constant, value}; }
constexpr Initializer zeros() { return constant(0); }
constexpr Initializer uniform(double bound) { return {Initializer::Kind::uniform, bound}; }
constexpr Initializer normal(double deviation) { return {Initializer::Kind::normal, deviation}; }

/// Uniform with variance 2/fan_in, for relu (He et al. 2015).
constexpr Initializer kaiming_uniform(std::int64_t fan_in) { return uniform(math::sqrt(6.0 / static_cast<double>(fan_in))); }
constexpr Initializer kaiming_normal(std::int64_t fan_in) { return normal(math::sqrt(2.0 / static_cast<double>(fan_in))); }

/// Uniform with variance 2/(fan_in + fan_out) (Glorot and Bengio 2010).
constexpr Initializer xavier_uniform(std::int64_t fan_in, std::int64_t fan_out) {
  return uniform(math::sqrt(6.0 / static_cast<double>(fan_in + fan_out)));
}
constexpr Initializer xavier_normal(std::int64_t fan_in, std::int64_t fan_out) {
  return normal(math::sqrt(2.0 / static_cast<double>(fan_in + fan_out)));
}

/// What PyTorch gives linear layers: uniform in ±1/√fan_in.
constexpr Initializer linear_default(std::int64_t fan_in) { return uniform(math::sqrt(1.0 / static_cast<double>(fan_in))); }

}  // namespace gradual::init
