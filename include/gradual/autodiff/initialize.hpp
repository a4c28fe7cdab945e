#pragma once
#include <algorithm>
#include <span>

#include <gradual/autodiff/tape.hpp>
#include <gradual/core/philox.hpp>
#include <gradual/core/philox_normal.hpp>

namespace gradual {

GRADUAL_BEGIN_LOOPS

namespace detail {
/// Sets element i to draw(i), in vectors: a large table has so many elements that nothing else is fast enough.
template <class Real, class Draw>
[[gnu::flatten]] void draw_each(std::span<Real> values, Draw draw) {
  Real* const to = values.data();
  const auto count = static_cast<std::int64_t>(values.size());
  GRADUAL_IVDEP
  for (std::int64_t i = 0; i < count; ++i) to[i] = draw(static_cast<std::uint64_t>(i));
}
}  // namespace detail

/// Gives parameter number `index` its initial values, keyed by (seed, index, element): random ones are floats, also in double.
/// Never inlined into its caller, which is cold, and whose loops are not vectorised.
template <class Real>
[[gnu::noinline]] void initialize(std::span<Real> values, const Initializer& start, std::uint64_t seed, int index) {
  const auto scale = static_cast<float>(start.scale);
  const auto stream = static_cast<std::uint64_t>(index);
  switch (start.kind) {
    case Initializer::Kind::constant: std::fill(values.begin(), values.end(), static_cast<Real>(start.scale)); break;
    case Initializer::Kind::uniform:
      detail::draw_each(values, [=](std::uint64_t i) { return scale * (2 * uniform<float>(seed, stream, i) - 1); });
      break;
    case Initializer::Kind::normal:
      detail::draw_each(values, [=](std::uint64_t i) { return scale * normal<float>(seed, stream, i); });
  }
  std::fill(values.begin() + start.zeros_begin, values.begin() + start.zeros_end, Real{0});
}

GRADUAL_END_LOOPS

}  // namespace gradual
