#pragma once
#include <gradual/autodiff/summed_positions.hpp>
#include <gradual/autodiff/reference/values.hpp>
#include <gradual/core/canonical.hpp>

namespace gradual::detail::reference {

/// Reduces in canonical order within one sample (core/canonical.hpp).
template <class E, class R>
constexpr auto row_reduce(const R& values, const Node& node) {
  const auto& x = values.template operand<E>(node, 0);
  auto out = values.zeros(node);
  const std::size_t columns = out.empty() ? 0 : x.size() / out.size();
  for (std::size_t r = 0; r < out.size(); ++r) {
    if (is<ArgMax>(node)) {
      std::size_t best = 0;
      for (std::size_t c = 1; c < columns; ++c) {
        const E a = x[r * columns + best], b = x[r * columns + c];
        if (a == a && (b > a || b != b)) best = c;
      }
      out[r] = static_cast<typename R::Held>(best);
      continue;
    }
    E lane[canonical_lanes];
    for (E& l : lane) l = static_cast<E>(node.op->identity);
    for (std::size_t c = 0; c < columns; ++c) {
      E& l = lane[c % canonical_lanes];
      l = apply_scalar<E>(*node.op, l, x[r * columns + c], 0);
    }
    for (int half = canonical_lanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lane[l] = apply_scalar<E>(*node.op, lane[l], lane[l + half], 0);
    out[r] = lane[0];
  }
  return out;
}

// Sums over samples: closed blocks, whose chains are E, are added to a W.

template <class E, class W, class R>
constexpr auto batch_reduce(const R& values, const Node& node) {
  const auto& x = values.template operand<E>(node, 0);
  auto out = values.zeros(node);
  std::vector<W> total(out.size(), W{});
  std::vector<E> chain(out.size(), E(0));
  const std::int64_t p = summed_positions(values.tape().nodes.data(), node), all = p * values.batch();
  for (std::int64_t s = 0; s < all; ++s) {
    const bool closes = block_end(s, p) == s + 1 || s + 1 == all;
    for (std::size_t c = 0; c < out.size(); ++c) {
      chain[c] += x[static_cast<std::size_t>(s) * out.size() + c];
      if (closes) total[c] += chain[c], chain[c] = 0;
    }
  }
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = value_of(total[c]);
  return out;
}

template <class E, class W, class R>
constexpr auto batch_scatter(const R& values, const Node& node) {
  const auto& g = values.template operand<E>(node, 0);
  const auto& rows = values.in(node, 1);
  const auto width = static_cast<std::size_t>(node.shape.extent[1]);
  const std::int64_t p = summed_positions(values.tape().nodes.data(), node), all = p * values.batch();
  auto out = values.zeros(node);
  for (std::size_t o = 0; o < out.size(); ++o) {
    W total{};
    E chain = 0;
    for (std::int64_t s = 0; s < all; ++s) {
      const auto at = static_cast<std::size_t>(s);
      if (static_cast<std::size_t>(rows[at]) == o / width) chain += g[at * width + o % width];
      if (block_end(s, p) == s + 1 || s + 1 == all) total += chain, chain = 0;
    }
    out[o] = value_of(total);
  }
  return out;
}

template <class E, class R>
constexpr auto scatter_own(const R& values, const Node& node) {
  const auto& from = values.template operand<E>(node, 0);
  const auto& named = values.in(node, 1);
  const auto rows = node.shape.extent[1], width = node.shape.extent[2], p = values.shape(node, 1).unit();
  auto out = values.zeros(node);
  for (std::size_t o = 0; o < out.size(); ++o) {
    const std::int64_t at = static_cast<std::int64_t>(o), sample = at / (rows * width), row = at / width % rows;
    E total = 0, chain = 0;
    for (std::int64_t s = 0; s < p; ++s) {
      if (static_cast<std::int64_t>(named[static_cast<std::size_t>(sample * p + s)]) == row)
        chain += from[static_cast<std::size_t>((sample * p + s) * width + at % width)];
      if ((s + 1) % canonical_block == 0 || s + 1 == p) total += chain, chain = 0;
    }
    out[o] = total;
  }
  return out;
}

}  // namespace gradual::detail::reference
