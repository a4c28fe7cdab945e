#pragma once
#include <algorithm>
#include <span>
#include <string_view>

#include <gradual/autodiff/tape.hpp>
#include <gradual/core/philox.hpp>
#include <gradual/core/philox_normal.hpp>

namespace gradual {

/// One parameter, or its gradient, as its row-major values.
template <class E>
struct NamedValues {
  std::string_view name;
  Shape shape;
  const std::span<E> values;  ///< its elements are written to: another span would change nothing
};

namespace detail {
/// Goes through parameters that are found by position.
template <class Parameters>
struct ByPosition {
  const Parameters* of;
  int position;
  auto operator*() const { return (*of)[position]; }
  ByPosition& operator++() {
    ++position;
    return *this;
  }
  bool operator==(const ByPosition&) const = default;
};
}  // namespace detail

template <class Real>
using ParameterViewIn = NamedValues<Real>;
using ParameterView = ParameterViewIn<float>;

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
