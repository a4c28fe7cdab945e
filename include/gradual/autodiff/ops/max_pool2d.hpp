#pragma once
#include <gradual/autodiff/ops/pooled.hpp>
#include <gradual/core/pooling.hpp>

namespace gradual {

/// The largest element of each window. `integer[0]` and `integer[1]` hold kernel, stride and padding of rows and columns.
struct MaxPool2d {
  static constexpr const char* name = "max_pool2d";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::pool;
  static constexpr Var vjp(Var g, Var x, Var y);
  template <class Check>
  static void sweep(Check& check);
};

/// The adjoint of `MaxPool2d`: the part of g, the adjoint of y, that each pixel of x gets; if several elements of a window are
/// largest, they share evenly.
struct MaxPool2dSpread {
  using AdjointOf = MaxPool2d;
  static constexpr const char* name = "max_pool2d_spread";
  static constexpr int arity = 3;
  static constexpr Kind kind = Kind::pool;
  static constexpr Adjoints<3> vjp(Var h, Var g, Var x, Var y, Var);
};

/// The adjoint of `MaxPool2dSpread`: the mean of h, whose shape is that of x, over the largest elements of each window.
struct MaxPool2dGather {
  using AdjointOf = MaxPool2d;
  static constexpr const char* name = "max_pool2d_gather";
  static constexpr int arity = 3;
  static constexpr Kind kind = Kind::pool;
  static constexpr Adjoints<3> vjp(Var g, Var h, Var x, Var y, Var);
};

/// Returns the windows of a recorded pooling or of its adjoints, whose operands are among `nodes`.
constexpr Pooling recorded_pooling(const Node* nodes, const Node& node) {
  const bool first = is<MaxPool2d>(node);
  const Shape &x = nodes[node.in[first ? 0 : 1]].shape, &y = first ? node.shape : nodes[node.in[2]].shape;
  const auto number = [&](int word, int shift) { return node.attributes.integer[word] >> shift & 0xffff; };
  return {{x.extent[2], number(0, 0), y.extent[2], number(0, 16), 1, number(0, 32)},
          {x.extent[3], number(1, 0), y.extent[3], number(1, 16), 1, number(1, 32)}};
}

namespace detail {

constexpr Var max_pool(Var images, const ConvolutionAxis& y, const ConvolutionAxis& x) {
  const auto pack = [](const ConvolutionAxis& axis) { return axis.kernel | axis.stride << 16 | axis.before << 32; };
  const Attributes attributes{.integer = {pack(y), pack(x)}};
  return images.tape->record(op_info<MaxPool2d>, {images},
                             with_planes(images.shape(), images.shape().extent[1], y.out, x.out), images.dtype(), attributes);
}

}  // namespace detail

/// Returns the largest element of each window. images: [batch, channels, height, width]; gives [batch, channels, (height +
/// 2·padding − size)/stride + 1, …], rounded down. A size of {1, 4} is one row of four columns. Without a stride, windows lie
/// side by side. Padding is never the largest. Ties share the adjoint evenly. Errors: another rank, images that are not
/// samples, windows larger than the padded image, more padding than half a window, a dilation, groups.
constexpr Var max_pool2d(Var images, PerAxis size, Walk walk = {}) {
  return detail::pooled<2>("max_pool2d", images, size, walk, detail::max_pool);
}

constexpr Var MaxPool2d::vjp(Var g, Var x, Var y) {
  return g.tape->record(op_info<MaxPool2dSpread>, {g, x, y}, x.shape(), x.dtype(), y.attributes());
}
constexpr Adjoints<3> MaxPool2dSpread::vjp(Var h, Var, Var x, Var y, Var own) {
  return {{h.tape->record(op_info<MaxPool2dGather>, {h, x, y}, y.shape(), y.dtype(), own.attributes()), {}, {}}};
}
constexpr Adjoints<3> MaxPool2dGather::vjp(Var g, Var, Var x, Var y, Var own) {
  return {{g.tape->record(op_info<MaxPool2dSpread>, {g, x, y}, x.shape(), x.dtype(), own.attributes()), {}, {}}};
}

template <class Check>
void MaxPool2d::sweep(Check& check) {
  struct Images {
    Shape x;
    PerAxis size;
    Walk walk;
  };
  for (const auto& [x, size, walk] : {Images{{2, 4, 5}, 2, {}}, Images{{1, 5, 4}, 3, {.stride = 2, .padding = 1}},
                                      Images{{1, 4, 4}, 2, {.stride = 1}}, Images{{2, 2, 8}, {1, 4}, {}},
                                      Images{{1, 5, 6}, {3, 2}, {.stride = {2, 0}, .padding = {1, 0}}},
                                      Images{{1, 4, 7}, {2, 5}, {.stride = {1, 2}, .padding = {0, 2}}}})
    check.run("max_pool2d", [s = size, w = walk](auto in) { return square(max_pool2d(in[0], s, w)); },
              {Shape::per_sample(x)});
  check.run("max_pool2d, its adjoint", [](auto in) {
    const Var y = max_pool2d(in[0], 2);
    return square(backward(y, sin(y), {in[0].id})[static_cast<std::size_t>(in[0].id)]);
  }, {Shape::per_sample({1, 4, 4})});
}

}  // namespace gradual
