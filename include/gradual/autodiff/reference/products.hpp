#pragma once
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/autodiff/summed_positions.hpp>
#include <gradual/autodiff/reference/values.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/core/math/fma.hpp>

namespace gradual::detail::reference {

template <class E, class R>
constexpr auto contract(const R& values, const Node& node) {
  const auto [ta, tb, m, n, k, stack] = product_of(node, values.shape(node, 0), values.batch());
  const auto &left = values.template operand<E>(node, 0), &right = values.template operand<E>(node, 1);
  auto out = values.zeros(node);
  for (std::int64_t s = 0; s < stack; ++s) {
    const E* x = left.data() + s * m * k;
    const E* y = right.data() + s * k * n;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        E total = 0;
        for (std::int64_t block = 0; block < k; block += canonical_block) {
          E chain = 0;
          for (std::int64_t l = block; l < k && l < block + canonical_block; ++l)
            chain = math::fma(x[ta ? l * m + i : i * k + l], y[tb ? j * k + l : l * n + j], chain);
          total += chain;
        }
        out[static_cast<std::size_t>((s * m + i) * n + j)] = total;
      }
  }
  return out;
}

/// Sums over samples: closed blocks, whose chains are E, are added to a W.
template <class E, class W, class R>
constexpr auto batch_contract(const R& values, const Node& node) {
  const auto &x = values.template operand<E>(node, 0), &g = values.template operand<E>(node, 1);
  const std::int64_t rows = node.shape.extent[0], columns = node.shape.extent[1];
  const std::int64_t p = summed_positions(values.tape().nodes.data(), node), all = p * values.batch();
  auto out = values.zeros(node);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      W total{};
      E chain = 0;
      for (std::int64_t s = 0; s < all; ++s) {
        chain =
            math::fma(x[static_cast<std::size_t>(s * rows + i)], g[static_cast<std::size_t>(s * columns + j)], chain);
        if (block_end(s, p) == s + 1 || s + 1 == all) total += chain, chain = 0;
      }
      out[static_cast<std::size_t>(i * columns + j)] = value_of(total);
    }
  return out;
}

}  // namespace gradual::detail::reference
