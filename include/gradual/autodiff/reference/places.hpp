#pragma once
#include <gradual/autodiff/reference/values.hpp>

// Ops that move elements.

namespace gradual::detail::reference {

/// Iota, broadcast, transpose and slice: each output index maps to an index of the source (or, for iota, is the value).
template <class R>
constexpr auto view(const R& values, const Node& node) {
  const Kind kind = node.op->kind;
  const Shape& shape = node.shape;
  const Shape source = node.op->arity > 0 ? values.shape(node, 0) : shape;
  std::int64_t stride[max_rank]{}, step = 1;
  for (int i = source.rank - 1; i >= 0; --i) {
    stride[i] = step;
    step *= values.extent(source, i);
  }
  auto out = values.zeros(node);
  for (std::size_t o = 0; o < out.size(); ++o) {
    std::int64_t rest = static_cast<std::int64_t>(o), from = 0;
    for (int i = shape.rank - 1; i >= 0; --i) {
      const std::int64_t here = rest % values.extent(shape, i);
      rest /= values.extent(shape, i);
      if (kind == Kind::iota)
        from += i == node.attributes.integer[0] ? here : 0;
      else if (kind == Kind::slice)
        from += (here + (i == node.attributes.integer[0] ? node.attributes.integer[1] : 0)) * stride[i];
      else if (kind == Kind::transpose)
        from += here * stride[Transpose::source_axis(node.attributes, i)];
      else if (int a = i - (shape.rank - source.rank); a >= 0 && (source.extent[a] != 1 || a == source.batch_axis))
        from += here * stride[a];
    }
    out[o] =
        kind == Kind::iota ? static_cast<typename R::Held>(from) : values.in(node, 0)[static_cast<std::size_t>(from)];
  }
  return out;
}

template <class R>
constexpr auto pad(const R& values, const Node& node) {
  const Shape source = values.shape(node, 0);
  const int axis = static_cast<int>(node.attributes.integer[0]);
  const std::int64_t inner = source.product(axis + 1, source.rank, values.batch());
  const std::int64_t here = source.extent[axis], all = node.shape.extent[axis], before = node.attributes.integer[1];
  const auto& x = values.in(node, 0);
  typename R::Values out(values.size(node), R::rounded(node, static_cast<typename R::Held>(node.attributes.number)));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i), outer = at / inner / here, place = at / inner % here;
    out[static_cast<std::size_t>((outer * all + before + place) * inner + at % inner)] = x[i];
  }
  return out;
}

template <class R>
constexpr auto uses(const R& values, const Node& node) {
  const auto &a = values.in(node, 0), &b = values.in(node, 1);
  const auto rest = static_cast<std::size_t>(values.shape(node, 1).unit()), all = static_cast<std::size_t>(node.shape.unit());
  auto out = values.zeros(node);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t sample = i / all, place = i % all, first = all - rest;
    out[i] = place < first ? a[sample * first + place] : b[sample * rest + place - first];
  }
  return out;
}

template <class R>
constexpr auto gather(const R& values, const Node& node) {
  const auto &table = values.in(node, 0), &rows = values.in(node, 1);
  const auto width = static_cast<std::size_t>(node.shape.extent[node.shape.rank - 1]);
  auto out = values.zeros(node);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = table[static_cast<std::size_t>(rows[i / width]) * width + i % width];
  return out;
}

template <class R>
constexpr auto gather_own(const R& values, const Node& node) {
  const auto &table = values.in(node, 0), &named = values.in(node, 1);
  const Shape& own = values.shape(node, 0);
  const auto rows = static_cast<std::size_t>(own.extent[1]), width = static_cast<std::size_t>(own.extent[2]);
  const auto all = static_cast<std::size_t>(node.shape.unit());
  auto out = values.zeros(node);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (const auto row = static_cast<std::int64_t>(named[i / width]); row >= 0 && row < own.extent[1])
      out[i] = table[(i / all * rows + static_cast<std::size_t>(row)) * width + i % width];
  return out;
}

}  // namespace gradual::detail::reference
