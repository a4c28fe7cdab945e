#pragma once
#include <gradual/autodiff/draw_of_node.hpp>
#include <gradual/autodiff/reference/values.hpp>

namespace gradual::detail::reference {

template <class E, class R>
constexpr auto map(const R& values, const Node& node) {
  auto out = values.zeros(node);
  const auto at = [&](int k, std::size_t i) {
    return k < node.op->arity ? static_cast<E>(values.in(node, k)[i]) : E(0);
  };
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = R::rounded(node, apply_scalar<E>(*node.op, at(0, i), at(1, i), at(2, i)));
  return out;
}

template <class R>
constexpr auto constant(const R& values, const Node& node) {
  const auto number = static_cast<typename R::Held>(node.attributes.number);
  return typename R::Values(values.size(node), R::rounded(node, number));
}

/// Returns what a random op draws.
template <class R>
constexpr auto random(const R& values, const Node& node) {
  typename R::Values out = values.zeros(node);
  const std::int64_t unit = node.shape.unit();
  const auto fill = [&](auto draw) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::uint64_t key = values.random().key(node.attributes.integer[0], node.shape.batched(), at / unit);
      out[i] = R::rounded(node, static_cast<typename R::Held>(draw(key, static_cast<std::uint32_t>(at % unit))));
    }
  };
  if (node.dtype == DType::f64) with_draw<double>(node, values.random().on, fill);
  else with_draw<typename R::Real>(node, values.random().on, fill);
  return out;
}

}  // namespace gradual::detail::reference
