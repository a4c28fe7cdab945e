#pragma once
#include <algorithm>
#include <span>

#include <gradual/autodiff/tape.hpp>
#include <gradual/core/philox.hpp>
#include <gradual/core/philox_normal.hpp>

namespace gradual {

/// Gives parameter number `index` its initial values, keyed by (seed, index, element): random ones are floats, also in double.
template <class Real>
void initialize(std::span<Real> values, const Initializer& start, std::uint64_t seed, int index) {
  const auto scale = static_cast<float>(start.scale);
  const auto constant = static_cast<Real>(start.scale);
  const auto stream = static_cast<std::uint64_t>(index);
  std::uint64_t element = 0;
  for (Real& value : values) {
    if (start.kind == Initializer::Kind::constant) value = constant;
    else if (start.kind == Initializer::Kind::uniform) value = scale * (2 * uniform<float>(seed, stream, element) - 1);
    else value = scale * normal<float>(seed, stream, element);
    ++element;
  }
  std::fill(values.begin() + start.zeros_begin, values.begin() + start.zeros_end, Real{0});
}

}  // namespace gradual
