#pragma once
#include <gradual/autodiff/ops/normal_noise.hpp>
#include <gradual/autodiff/ops/uniform_noise.hpp>

namespace gradual {

/// What a random op draws: a dropout mask, or noise.
enum class Draws : unsigned char { mask, normal, uniform };
constexpr Draws draws_of(const Node& node) {
  return is<NormalNoise>(node) ? Draws::normal : is<UniformNoise>(node) ? Draws::uniform : Draws::mask;
}

namespace detail {
/// Calls f with the functor that draws the elements of a random op.
template <class T, class F>
constexpr decltype(auto) with_draw(const Node& node, bool on, F f) {
  switch (draws_of(node)) {
    case Draws::normal: return f(NormalNoise::Draw<T>{on});
    case Draws::uniform: return f(UniformNoise::Draw<T>{on});
    default: return f(DropoutMask::Draw<T>::of(node.attributes.number, on));
  }
}
}  // namespace detail

}  // namespace gradual
