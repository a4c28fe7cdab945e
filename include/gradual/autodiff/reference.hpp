#pragma once
#include <vector>

#include <gradual/autodiff/cut_positions.hpp>
#include <gradual/autodiff/ops.hpp>
#include <gradual/autodiff/randomness.hpp>
#include <gradual/autodiff/shadow.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/core/math/fma.hpp>

namespace gradual {

/// The specification: evaluates a tape node by node on plain arrays in canonical order, in constant evaluation or at
/// run time. Optimised kernels must give the same bits. T is float or double; integers are held as T. S says what sums
/// are held in. Where these are wider than the tape's floats all values are doubles, each computed in its own type.
template <class T, ShadowType S = T>
class Reference {
  static constexpr bool mixed = !std::is_same_v<T, SumOf<S>>;
  using Held = std::conditional_t<mixed, double, T>;

 public:
  using Values = std::vector<Held>;

  /// `samples`, `parameters` and `scalars` are the inputs of each family, in order; all of a window is one batch.
  constexpr Reference(const Tape& tape, std::int64_t batch, const std::vector<Values>& samples,
                      const std::vector<Values>& parameters, const Values& scalars = {}, const Randomness& random = {})
      : tape_(&tape), batch_(batch), random_(random), values_(tape.nodes.size()) {
    for (int i = 0; i < tape.size(); ++i) values_[index(i)] = evaluate(i, samples, parameters, scalars);
  }

  constexpr std::int64_t batch() const { return batch_; }
  constexpr const Values& operator[](int node) const { return values_[index(node)]; }
  constexpr const Values& root(Role role, int which = 0) const {
    for (const Root& r : tape_->roots)
      if (r.role == role && r.index == which) return values_[index(r.node)];
    throw ShapeError("the tape has no such root");
  }

 private:
  static constexpr std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

  constexpr Values evaluate(int id, const std::vector<Values>& samples, const std::vector<Values>& parameters,
                            const Values& scalars) const {
    const Node& node = (*tape_)[id];
    const auto which = index(node.attributes.integer[0]);
    Values out;
    switch (node.op->kind) {
      case Kind::input:
        if (node.attributes.integer[1] == Input::sample) return samples[which];
        if (node.attributes.integer[1] == Input::parameter) return parameters[which];
        return {scalars[which]};
      case Kind::constant:
        out.assign(size(node), rounded(node, static_cast<Held>(node.attributes.number[0])));
        return out;
      case Kind::reshape:
        return values_[index(node.in[0])];
      case Kind::iota:
      case Kind::broadcast:
      case Kind::transpose:
      case Kind::slice:
        return view(node);
      case Kind::pad:
        return pad(node);
      case Kind::random:
        return mask(node);
      case Kind::gather:
        return gather(node);
      default:
        if constexpr (mixed)
          if ((*tape_)[node.in[node.op->arity == 3 ? 1 : 0]].dtype == DType::f64) return compute<double>(node);
        return compute<T>(node);
    }
  }

  /// What is computed of operands of type E.
  template <class E>
  constexpr Values compute(const Node& node) const {
    switch (node.op->kind) {
      case Kind::row_reduce:
        return row_reduce<E>(node);
      case Kind::contract:
        return contract<E>(node);
      case Kind::convolve:
        return convolve<E>(node);
      case Kind::pool:
        return pool<E>(node);
      case Kind::batch_reduce:
      case Kind::batch_contract:
      case Kind::batch_convolve:
      case Kind::batch_scatter:
        if constexpr (std::is_same_v<E, T>)
          if (!mixed || node.dtype == DType::f64) return cut<E, S>(node);
        return cut<E, E>(node);
      default:
        Values out(size(node), Held(0));
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = rounded(node, scalar<E>(node.op, at<E>(node, 0, i), at<E>(node, 1, i), at<E>(node, 2, i)));
        return out;
    }
  }
  /// A sum over samples: W is what closed blocks, chains in E, are added to.
  template <class E, class W>
  constexpr Values cut(const Node& node) const {
    switch (node.op->kind) {
      case Kind::batch_reduce:
        return batch_reduce<E, W>(node);
      case Kind::batch_contract:
        return batch_contract<E, W>(node);
      case Kind::batch_convolve:
        return batch_convolve<E, W>(node);
      default:
        return batch_scatter<E, W>(node);
    }
  }

  static constexpr Held rounded(const Node& node, Held value) {
    return node.dtype == DType::f32 ? static_cast<Held>(static_cast<T>(value)) : value;
  }
  template <class W>
  static constexpr Held value_of(const W& sum) {
    if constexpr (is_compensated<W>) return sum.value();
    else return sum;
  }
  template <class E>
  static constexpr E scalar(const OpInfo* op, E a, E b, E c) {
    if constexpr (sizeof(E) == 4) return op->f32(a, b, c);
    else return op->f64(a, b, c);
  }
  template <class E>
  constexpr E at(const Node& node, int k, std::size_t i) const {
    return k < node.op->arity ? static_cast<E>(values_[index(node.in[k])][i]) : E(0);
  }
  template <class E>
  constexpr decltype(auto) operand(const Node& node, int k) const {
    const Values& values = values_[index(node.in[k])];
    if constexpr (std::is_same_v<E, Held>) return (values);
    else return std::vector<E>(values.begin(), values.end());
  }
  constexpr std::size_t size(const Node& node) const { return index(node.shape.elements(batch_)); }
  constexpr std::int64_t extent(const Shape& shape, int axis) const {
    return shape.extent[axis] * (axis == shape.batch_axis ? batch_ : 1);
  }

  /// Iota, broadcast, transpose and slice: each output index maps to an index of the source (or, for iota, is the value).
  constexpr Values view(const Node& node) const {
    const Shape& shape = node.shape;
    const Shape source = node.op->arity > 0 ? (*tape_)[node.in[0]].shape : shape;
    std::int64_t stride[max_rank]{}, step = 1;
    for (int i = source.rank - 1; i >= 0; --i) {
      stride[i] = step;
      step *= extent(source, i);
    }
    Values out(size(node), Held(0));  // clang 14 cannot evaluate libstdc++'s vector(n)
    for (std::size_t o = 0; o < out.size(); ++o) {
      std::int64_t rest = static_cast<std::int64_t>(o), from = 0;
      for (int i = shape.rank - 1; i >= 0; --i) {
        const std::int64_t here = rest % extent(shape, i);
        rest /= extent(shape, i);
        if (node.op->kind == Kind::iota) from += i == node.attributes.integer[0] ? here : 0;
        else if (node.op->kind == Kind::slice)
          from += (here + (i == node.attributes.integer[0] ? node.attributes.integer[1] : 0)) * stride[i];
        else if (node.op->kind == Kind::transpose) from += here * stride[Transpose::source_axis(node.attributes, i)];
        else if (int a = i - (shape.rank - source.rank); a >= 0 && (source.extent[a] != 1 || a == source.batch_axis))
          from += here * stride[a];
      }
      out[o] = node.op->kind == Kind::iota ? static_cast<Held>(from) : values_[index(node.in[0])][index(from)];
    }
    return out;
  }

  constexpr Values pad(const Node& node) const {
    const Shape source = (*tape_)[node.in[0]].shape;
    const int axis = static_cast<int>(node.attributes.integer[0]);
    std::int64_t inner = 1;
    for (int i = axis + 1; i < source.rank; ++i) inner *= extent(source, i);
    const std::int64_t here = source.extent[axis], all = node.shape.extent[axis], before = node.attributes.integer[1];
    const Values& x = values_[index(node.in[0])];
    Values out(size(node), static_cast<T>(node.attributes.number[0]));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i), outer = at / inner / here, place = at / inner % here;
      out[index(((outer * all) + before + place) * inner + at % inner)] = x[i];
    }
    return out;
  }

  constexpr Values mask(const Node& node) const {
    Values out(size(node), Held(1));
    const std::uint32_t threshold = DropoutMask::threshold(node.attributes.number[0]);
    const std::int64_t unit = node.shape.unit();
    for (std::size_t i = 0; i < out.size() && random_.on; ++i)
      out[i] = DropoutMask::apply(random_.key(node.attributes.integer[0], static_cast<std::int64_t>(i) / unit),
                                  static_cast<std::uint32_t>(static_cast<std::int64_t>(i) % unit), threshold,
                                  static_cast<T>(1 / (1 - node.attributes.number[0])));
    return out;
  }

  /// Contract 3, within one sample: 32 lanes, then lane i takes lane i+16, 8, 4, 2, 1.
  template <class E>
  constexpr Values row_reduce(const Node& node) const {
    const auto& x = operand<E>(node, 0);
    Values out(size(node), Held(0));
    const std::size_t columns = out.empty() ? 0 : x.size() / out.size();
    for (std::size_t r = 0; r < out.size(); ++r) {
      if (is<ArgMax>(node)) {
        std::size_t best = 0;
        for (std::size_t c = 1; c < columns; ++c) {
          const E a = x[r * columns + best], b = x[r * columns + c];
          if (a == a && (b > a || b != b)) best = c;
        }
        out[r] = static_cast<Held>(best);
        continue;
      }
      E lane[canonical_lanes];
      for (E& l : lane) l = static_cast<E>(node.op->identity);
      for (std::size_t c = 0; c < columns; ++c) {
        E& l = lane[c % canonical_lanes];
        l = scalar<E>(node.op, l, x[r * columns + c], 0);
      }
      for (int half = canonical_lanes / 2; half > 0; half /= 2)
        for (int l = 0; l < half; ++l) lane[l] = scalar<E>(node.op, lane[l], lane[l + half], 0);
      out[r] = lane[0];
    }
    return out;
  }

  template <class E, class W>
  constexpr Values batch_reduce(const Node& node) const {
    const auto& x = operand<E>(node, 0);
    std::vector<W> total(size(node), W{});
    std::vector<E> chain(size(node), E(0));
    const std::int64_t p = (*tape_)[node.in[0]].shape.product(0, static_cast<int>(node.attributes.integer[0]));
    const std::int64_t rows = p * batch_;
    for (std::int64_t r = 0; r < rows; ++r) {
      const bool closes = block_end(r, p) == r + 1 || r + 1 == rows;
      for (std::size_t c = 0; c < total.size(); ++c) {
        chain[c] += x[index(r) * total.size() + c];
        if (closes) total[c] += chain[c], chain[c] = 0;
      }
    }
    return values_of(total);
  }
  template <class W>
  static constexpr Values values_of(const std::vector<W>& totals) {
    Values out(totals.size(), Held(0));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_of(totals[i]);
    return out;
  }

  template <class E>
  constexpr Values contract(const Node& node) const {
    const Shape &a = (*tape_)[node.in[0]].shape, &b = (*tape_)[node.in[1]].shape;
    const bool ta = node.attributes.integer[0] & 1, tb = node.attributes.integer[0] & 2;
    const std::int64_t m = extent(node.shape, node.shape.rank - 2), n = extent(node.shape, node.shape.rank - 1);
    const std::int64_t k = extent(a, a.rank - (ta ? 2 : 1));
    const auto &left = operand<E>(node, 0), &right = operand<E>(node, 1);
    Values out(size(node), Held(0));
    const std::int64_t stack = m * n == 0 ? 0 : static_cast<std::int64_t>(out.size()) / (m * n);
    for (std::int64_t s = 0; s < stack; ++s) {
      const E* x = left.data() + s * m * k;
      const E* y = right.data() + (b.rank > 2 ? s * k * n : 0);
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          E total = 0;
          for (std::int64_t block = 0; block < k; block += canonical_block) {
            E chain = 0;
            for (std::int64_t l = block; l < k && l < block + canonical_block; ++l)
              chain = math::fma(x[ta ? l * m + i : i * k + l], y[tb ? j * k + l : l * n + j], chain);
            total += chain;
          }
          out[index((s * m + i) * n + j)] = total;
        }
    }
    return out;
  }

  template <class E, class W>
  constexpr Values batch_contract(const Node& node) const {
    const auto &x = operand<E>(node, 0), &g = operand<E>(node, 1);
    const std::int64_t rows = node.shape.extent[0], columns = node.shape.extent[1];
    const std::int64_t p = (*tape_)[node.in[0]].shape.extent[0], positions = p * batch_;
    Values out(size(node), Held(0));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        W total{};
        E chain = 0;
        for (std::int64_t s = 0; s < positions; ++s) {
          chain = math::fma(x[index(s * rows + i)], g[index(s * columns + j)], chain);
          if (block_end(s, p) == s + 1 || s + 1 == positions) total += chain, chain = 0;
        }
        out[index(i * columns + j)] = value_of(total);
      }
    return out;
  }

  constexpr Convolution convolution(const Node& node) const {
    return convolution_of(node, (*tape_)[node.in[0]].shape, (*tape_)[node.in[1]].shape);
  }
  /// What an image holds where a position meets a tap.
  template <class E>
  static constexpr E met(const Convolution& c, const E* image, std::int64_t position, std::int64_t tap) {
    const std::int64_t pixel = c.pixel(position, tap);
    return pixel < 0 ? E(0) : image[pixel];
  }

  template <class E>
  constexpr Values convolve(const Node& node) const {
    const Convolution c = convolution(node);
    const auto &x = operand<E>(node, 0), &w = operand<E>(node, 1);
    Values out(size(node), Held(0));
    for (std::size_t o = 0; o < out.size(); ++o) {
      const std::int64_t plane = static_cast<std::int64_t>(o) / c.positions(), position = static_cast<std::int64_t>(o) % c.positions();
      const E* image = x.data() + plane / c.outputs * c.channels * c.pixels();
      E total = 0;
      for (std::int64_t block = 0; block < c.taps(); block += canonical_block) {
        E chain = 0;
        for (std::int64_t tap = block; tap < c.taps() && tap < block + canonical_block; ++tap)
          chain = math::fma(w[index(c.weight(plane % c.outputs, tap))], met(c, image, position, tap), chain);
        total += chain;
      }
      out[o] = total;
    }
    return out;
  }

  template <class E, class W>
  constexpr Values batch_convolve(const Node& node) const {
    const Convolution c = convolution(node);
    const auto &x = operand<E>(node, 0), &g = operand<E>(node, 1);
    const std::int64_t p = cut_positions(tape_->nodes.data(), node), all = p * batch_;
    Values out(size(node), Held(0));
    for (std::size_t o = 0; o < out.size(); ++o) {
      const std::int64_t output = static_cast<std::int64_t>(o) / c.taps(), tap = static_cast<std::int64_t>(o) % c.taps();
      W total{};
      E chain = 0;
      for (std::int64_t s = 0; s < all; ++s) {
        const std::int64_t image = s / c.positions(), position = s % c.positions();
        chain = math::fma(met(c, x.data() + image * c.channels * c.pixels(), position, tap),
                          g[index((image * c.outputs + output) * c.positions() + position)], chain);
        if (block_end(s, p) == s + 1 || s + 1 == all) total += chain, chain = 0;
      }
      out[o] = value_of(total);
    }
    return out;
  }

  template <class E>
  constexpr Values pool(const Node& node) const {
    const Pooling p = recorded_pooling(tape_->nodes.data(), node);
    const bool spreads = is<MaxPool2dSpread>(node);
    const std::int64_t each = spreads ? p.pixels() : p.positions(), other = spreads ? p.positions() : p.pixels();
    const bool pools = is<MaxPool2d>(node);
    const auto& source = operand<E>(node, 0);
    const auto &inputs = operand<E>(node, pools ? 0 : 1), &largest = operand<E>(node, pools ? 0 : 2);
    Values out(size(node), Held(0));
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

  constexpr Values gather(const Node& node) const {
    const Values &table = values_[index(node.in[0])], &rows = values_[index(node.in[1])];
    const auto width = index(node.shape.extent[node.shape.rank - 1]);
    Values out(size(node), Held(0));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = table[static_cast<std::size_t>(rows[i / width]) * width + i % width];
    return out;
  }

  template <class E, class W>
  constexpr Values batch_scatter(const Node& node) const {
    const auto& g = operand<E>(node, 0);
    const Values& rows = values_[index(node.in[1])];
    const auto width = index(node.shape.extent[1]);
    const std::int64_t p = cut_positions(tape_->nodes.data(), node), all = p * batch_;
    Values out(size(node), Held(0));
    for (std::size_t o = 0; o < out.size(); ++o) {
      W total{};
      E chain = 0;
      for (std::int64_t s = 0; s < all; ++s) {
        if (static_cast<std::size_t>(rows[index(s)]) == o / width) chain += g[index(s) * width + o % width];
        if (block_end(s, p) == s + 1 || s + 1 == all) total += chain, chain = 0;
      }
      out[o] = value_of(total);
    }
    return out;
  }

  const Tape* tape_;
  std::int64_t batch_;
  Randomness random_;
  std::vector<Values> values_;
};

}  // namespace gradual
