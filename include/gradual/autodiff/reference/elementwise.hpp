#pragma once
#include <gradual/autodiff/reference/values.hpp>

namespace gradual::detail::reference {

template <class E, class R>
constexpr auto map(const R& values, const Node& node) {
  auto out = values.zeros(node);
  const auto at = [&](int k, std::size_t i) {
    return k < node.op->arity ? static_cast<E>(values.in(node, k)[i]) : E(0);
  };
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = R::rounded(node, scalar<E>(node.op, at(0, i), at(1, i), at(2, i)));
  return out;
}

template <class R>
constexpr auto constant(const R& values, const Node& node) {
  const auto number = static_cast<typename R::Held>(node.attributes.number);
  return typename R::Values(values.size(node), R::rounded(node, number));
}

/// A dropout mask.
template <class R>
constexpr auto mask(const R& values, const Node& node) {
  using T = typename R::Real;
  typename R::Values out(values.size(node), typename R::Held(1));
  const std::uint32_t threshold = DropoutMask::threshold(node.attributes.number);
  const std::int64_t unit = node.shape.unit();
  for (std::size_t i = 0; i < out.size() && values.random().on; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    out[i] = DropoutMask::apply(values.random().key(node.attributes.integer[0], at / unit),
                                static_cast<std::uint32_t>(at % unit), threshold,
                                static_cast<T>(1 / (1 - node.attributes.number)));
  }
  return out;
}

}  // namespace gradual::detail::reference
