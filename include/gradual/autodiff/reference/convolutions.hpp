#pragma once
#include <gradual/autodiff/summed_positions.hpp>
#include <gradual/autodiff/reference/values.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/core/math/fma.hpp>

namespace gradual::detail::reference {

template <class R>
constexpr Convolution convolution(const R& values, const Node& node) {
  return convolution_of(node, values.shape(node, 0), values.shape(node, 1));
}

/// Returns the image's value where a position meets a tap.
template <class E>
constexpr E met(const Convolution& c, const E* image, std::int64_t position, std::int64_t tap) {
  const std::int64_t pixel = c.pixel(position, tap);
  return pixel < 0 ? E(0) : image[pixel];
}

template <class E, class R>
constexpr auto convolve(const R& values, const Node& node) {
  const Convolution c = convolution(values, node);
  const auto &x = values.template operand<E>(node, 0), &w = values.template operand<E>(node, 1);
  auto out = values.zeros(node);
  for (std::size_t o = 0; o < out.size(); ++o) {
    const std::int64_t plane = static_cast<std::int64_t>(o) / c.positions(),
                       position = static_cast<std::int64_t>(o) % c.positions();
    const std::int64_t group = plane / c.outputs;  // of all images
    const E *image = x.data() + group * c.image(), *weights = w.data() + group % c.groups * c.weights();
    E total = 0;
    for (std::int64_t block = 0; block < c.taps(); block += canonical_block) {
      E chain = 0;
      for (std::int64_t tap = block; tap < c.taps() && tap < block + canonical_block; ++tap)
        chain = math::fma(weights[c.weight(plane % c.outputs, tap)], met(c, image, position, tap), chain);
      total += chain;
    }
    out[o] = total;
  }
  return out;
}

/// Sums over samples: closed blocks, whose chains are E, are added to a W.
template <class E, class W, class R>
constexpr auto batch_convolve(const R& values, const Node& node) {
  const Convolution c = convolution(values, node);
  const auto &x = values.template operand<E>(node, 0), &g = values.template operand<E>(node, 1);
  const std::int64_t p = summed_positions(values.tape().nodes.data(), node), all = p * values.batch();
  auto out = values.zeros(node);
  for (std::size_t o = 0; o < out.size(); ++o) {
    const std::int64_t output = static_cast<std::int64_t>(o) / c.taps(), tap = static_cast<std::int64_t>(o) % c.taps();
    W total{};
    E chain = 0;
    for (std::int64_t s = 0; s < all; ++s) {
      const std::int64_t group = s / c.positions() * c.groups + output / c.outputs, position = s % c.positions();
      chain = math::fma(met(c, x.data() + group * c.image(), position, tap),
                        g[static_cast<std::size_t>(group * c.result() + output % c.outputs * c.positions() + position)], chain);
      if (block_end(s, p) == s + 1 || s + 1 == all) total += chain, chain = 0;
    }
    out[o] = value_of(total);
  }
  return out;
}

template <class E, class R>
constexpr auto pool(const R& values, const Node& node) {
  const Pooling p = recorded_pooling(values.tape().nodes.data(), node);
  const bool pools = is<MaxPool2d>(node), spreads = is<MaxPool2dSpread>(node);
  const std::int64_t each = spreads ? p.pixels() : p.positions(), other = spreads ? p.positions() : p.pixels();
  const auto& source = values.template operand<E>(node, 0);
  const auto &inputs = values.template operand<E>(node, pools ? 0 : 1),
             &largest = values.template operand<E>(node, pools ? 0 : 2);
  auto out = values.zeros(node);
  for (std::size_t o = 0; o < out.size(); ++o) {
    const std::int64_t plane = static_cast<std::int64_t>(o) / each, at = static_cast<std::int64_t>(o) % each;
    const E* first = source.data() + plane * other;
    if (pools) {
      out[o] = p.largest(first, at);
      continue;
    }
    const E *x = inputs.data() + plane * p.pixels(), *y = largest.data() + plane * p.positions();
    out[o] = spreads ? p.spread(x, y, first, at) : p.gathered(x, y, first, at);
  }
  return out;
}

}  // namespace gradual::detail::reference
