#pragma once
#include <concepts>
#include <string_view>

#include <gradual/autodiff/functions.hpp>
#include <gradual/autodiff/numbers_of_one_type.hpp>
#include <gradual/core/convolution.hpp>

namespace gradual {

/// Cross-correlation of each image with the kernel. `integer[0]` and `integer[1]` hold strides, spreads, zeros before the
/// image, whether weights are flipped, and the dilation of columns, `number` how much larger the dilation of rows is, so that
/// the adjoint of a convolution is again a convolution.
struct Conv2d {
  static constexpr const char* name = "conv2d";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::convolve;
  static constexpr Adjoints<2> vjp(Var g, Var x, Var w, Var y);
  template <class Check>
  static void sweep(Check& check);
};

/// The adjoint of a convolution's weights, from its images and the adjoint of its outputs: sums over samples, only in backward.
struct BatchConv2d {
  using AdjointOf = Conv2d;
  static constexpr const char* name = "batch_conv2d";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::batch_convolve;
  static constexpr Adjoints<2> vjp(Var h, Var x, Var g, Var y);
};

/// Returns the parameters of a recorded convolution, from the shapes of its operands and of its result.
constexpr Convolution convolution_of(const Node& node, const Shape& a, const Shape& b) {
  const bool batch = node.op->kind == Kind::batch_convolve;  // a: images, b: adjoint of outputs, result: weights
  const Shape &weights = batch ? node.shape : b, &outputs = batch ? b : node.shape;
  const auto number = [&](int word, int shift) { return node.attributes.integer[word] >> shift & 0xffff; };
  Convolution c;
  c.flipped = node.attributes.integer[0] >> 48 & 1;
  const std::int64_t of_group = weights.extent[1];
  const std::int64_t planes = (c.flipped ? outputs : a).extent[1];
  c.groups = of_group == 0 || planes == 0 ? 1 : planes / of_group;
  c.channels = a.extent[1] / c.groups;
  c.outputs = outputs.extent[1] / c.groups;
  const std::int64_t dilation = number(1, 48), more = static_cast<std::int64_t>(node.attributes.number);
  c.y = {a.extent[2], weights.extent[2], outputs.extent[2], number(0, 0), number(0, 16), number(0, 32), dilation + more};
  c.x = {a.extent[3], weights.extent[3], outputs.extent[3], number(1, 0), number(1, 16), number(1, 32), dilation};
  return c;
}

namespace detail {

constexpr Attributes attributes_of(const Convolution& c) {
  const auto pack = [](const ConvolutionAxis& axis) { return axis.stride | axis.spread << 16 | axis.before << 32; };
  // A kernel of one row has no dilation of rows. Fingerprints of saved states of nets over series have this 0.
  const double more = c.y.kernel > 1 ? static_cast<double>(c.y.dilation - c.x.dilation) : 0;
  return {.number = more, .integer = {pack(c.y) | std::int64_t{c.flipped} << 48, pack(c.x) | c.x.dilation << 48}};
}

constexpr Shape with_planes(Shape images, std::int64_t channels, std::int64_t rows, std::int64_t columns) {
  images.extent[1] = channels;
  images.extent[2] = rows;
  images.extent[3] = columns;
  return images;
}

constexpr Var convolve(Var x, Var w, const Convolution& c) {
  meet_in_float(x, w);
  return x.tape->record(op_info<Conv2d>, {x, w}, with_planes(x.shape(), c.groups * c.outputs, c.y.out, c.x.out), x.dtype(),
                        attributes_of(c));
}
constexpr Var batch_convolve(Var x, Var g, const Shape& weights, const Convolution& c) {
  meet_in_float(x, g);
  return x.tape->record(op_info<BatchConv2d>, {x, g}, weights, computed_in(x.dtype()), attributes_of(c));
}

/// Returns the convolution that takes adjoints of outputs to adjoints of images, for unflipped weights, and vice versa.
constexpr Convolution adjoint(Convolution c) {
  const auto turn = [](const ConvolutionAxis& a) {
    return ConvolutionAxis{a.out, a.kernel, a.in, a.spread, a.stride, a.reach() - a.before, a.dilation};
  };
  return {c.outputs, c.channels, turn(c.y), turn(c.x), !c.flipped, c.groups};
}

}  // namespace detail

/// A number of rows and one of columns, such as {1, 64}; a single number counts for both.
struct PerAxis {
  std::int64_t rows = 0, columns = 0;

  constexpr PerAxis() = default;
  constexpr PerAxis(std::int64_t both) : rows(both), columns(both) {}
  constexpr PerAxis(std::floating_point auto) = delete;  // which would be rounded down
  constexpr PerAxis(std::int64_t of_rows, std::int64_t of_columns) : rows(of_rows), columns(of_columns) {}

  constexpr std::int64_t operator[](int axis) const { return axis == 0 ? rows : columns; }
  friend constexpr bool operator==(const PerAxis&, const PerAxis&) = default;
};

constexpr Message& operator<<(Message& out, const PerAxis& number) {
  out << number.rows;
  return number.rows == number.columns ? out : out << " x " << number.columns;
}

/// How windows walk over images: {.stride = 2} in rows and columns alike, {.stride = {1, 2}} over every row and every second
/// column. Over series, which have one axis, no number differs by axis.
struct Walk {
  PerAxis stride = 0;       ///< from one output to the next; 0: 1 for convolutions, the window's size for pools
  PerAxis padding = 0;      ///< zeros on each side of an image
  PerAxis dilation = 1;     ///< between neighbouring elements of a convolution's kernel
  std::int64_t groups = 1;  ///< of a convolution's channels: the outputs of a group see its channels alone

  /// Returns the stride, which is `usual` along an axis where it is 0.
  constexpr PerAxis stride_or(PerAxis usual) const {
    return {stride.rows == 0 ? usual.rows : stride.rows, stride.columns == 0 ? usual.columns : stride.columns};
  }
};

constexpr Message& operator<<(Message& out, const Walk& walk) {
  out << "stride " << walk.stride_or(1) << ", padding " << walk.padding;
  if (walk.dilation != 1) out << ", dilation " << walk.dilation;
  if (walk.groups != 1) out << ", " << walk.groups << " groups";
  return out;
}

namespace detail {

/// Returns the axis (0: of rows) along which a kernel of `kernel` elements walks over `in` elements; without outputs if it does
/// not fit.
constexpr ConvolutionAxis walk_along(int axis, std::int64_t in, std::int64_t kernel, const Walk& walk) {
  const auto has_room = [](std::int64_t number, std::int64_t least) { return number >= least && number <= 0xffff; };
  ConvolutionAxis along{in, kernel, 0, walk.stride_or(1)[axis], 1, walk.padding[axis], walk.dilation[axis]};
  if (!has_room(kernel, 1) || !has_room(along.stride, 1) || !has_room(along.before, 0) || !has_room(along.dilation, 1) ||
      !has_room(along.reach(), along.before))
    return along;
  const std::int64_t last = in + 2 * along.before - 1 - along.reach();  // the last place where a window can begin
  if (last >= 0) along.out = last / along.stride + 1;
  return along;
}

/// Returns what is wrong with the walk of a kernel for any image; empty if nothing is.
constexpr std::string_view wrong_walk(const Walk& walk, PerAxis kernel) {
  for (const int axis : {0, 1}) {
    if (walk.stride[axis] < 0 || walk.dilation[axis] < 1 || walk.padding[axis] < 0)
      return ": strides and dilations must be positive, paddings at least 0";
    if (walk.padding[axis] > (kernel[axis] - 1) * walk.dilation[axis]) return ": use pad() to pad beyond the kernel's reach";
  }
  return "";
}

/// Returns why weights of this shape do not fit so many channels of `what` in `groups` groups; empty if they do.
constexpr Message wrong_channels(const char* op, const char* what, std::int64_t channels, const Shape& weights,
                                 std::int64_t groups) {
  Message text;
  if (groups < 1 || channels % groups != 0 || channels / groups != weights.extent[1]) {
    text << op << ": " << what << " have " << channels << " channels, weights are for " << weights.extent[1];
    if (groups != 1) text << " in each of " << groups << " groups";
  } else if (weights.extent[0] % groups != 0) {
    text << op << ": " << weights.extent[0] << " outputs are not shared out evenly among " << groups << " groups";
  }
  return text;
}

}  // namespace detail

/// Convolves images: [batch, channels, height, width] with weights: [outputs, channels / groups, rows, columns] to [batch,
/// outputs, …] with (height + 2·padding − 1 − (rows − 1)·dilation)/stride + 1 rows, rounded down. Padding counts as zeros. Of g
/// groups, the first outputs / g outputs see the first channels / g channels, and so on. Errors: types that differ, ranks other
/// than four, images that are not samples, numbers of channels that differ, groups that do not divide the channels or outputs
/// evenly, a kernel that reaches beyond the padded image, more padding than the kernel's reach, a stride or a dilation below 1,
/// any of these above 65535.
constexpr Var conv2d(Var images, Var weights, Walk walk = {}) {
  if (!detail::given("conv2d", {images, weights}) || !numbers_of_one_type("conv2d", images, weights)) return {};
  Tape& tape = *images.tape;
  const Shape x = images.shape(), w = weights.shape();
  const auto fail = [&](Message text) { return tape.fail(text, {images, weights}); };
  if (x.rank != 4 || x.batch_axis != 0 || w.rank != 4 || w.batched())
    return fail(Message() << "conv2d: needs images [batch, channels, height, width] and weights [outputs, channels, rows, "
                             "columns], got " << x << " and " << w);
  if (const Message wrong = detail::wrong_channels("conv2d", "images", x.extent[1], w, walk.groups); !wrong.empty())
    return fail(wrong);
  const Convolution c{w.extent[1],  w.extent[0] / walk.groups, detail::walk_along(0, x.extent[2], w.extent[2], walk),
                      detail::walk_along(1, x.extent[3], w.extent[3], walk), false, walk.groups};
  if (c.positions() == 0)
    return fail(Message() << "conv2d: a kernel of " << w.extent[2] << " x " << w.extent[3] << " does not fit images of "
                          << x.extent[2] << " x " << x.extent[3] << " with " << walk
                          << detail::wrong_walk(walk, {w.extent[2], w.extent[3]}));
  return detail::convolve(images, weights, c);
}

constexpr Adjoints<2> Conv2d::vjp(Var g, Var x, Var w, Var y) {
  const Convolution c = convolution_of(y.node(), x.shape(), w.shape());
  const Var of_w = c.flipped ? detail::batch_convolve(g, x, w.shape(), detail::adjoint(c))
                             : detail::batch_convolve(x, g, w.shape(), c);  // first: x may then no longer be needed
  return {{detail::convolve(g, w, detail::adjoint(c)), of_w}};
}

constexpr Adjoints<2> BatchConv2d::vjp(Var h, Var x, Var g, Var y) {
  const Convolution c = convolution_of(y.node(), x.shape(), g.shape());
  const Var of_x = detail::convolve(g, h, detail::adjoint(c));
  return {{of_x, detail::convolve(x, h, c)}};
}

template <class Check>
void Conv2d::sweep(Check& check) {
  struct Images {
    Shape x, w;
    Walk walk;
  };
  for (const auto& [x, w, walk] : {Images{{1, 4, 5}, {2, 1, 3, 3}, {.padding = 1}}, Images{{2, 4, 4}, {3, 2, 2, 3}, {}},
                                   Images{{2, 6, 5}, {2, 2, 3, 2}, {.stride = 2, .padding = 1}},
                                   Images{{1, 5, 4}, {1, 1, 2, 2}, {.stride = 3}}, Images{{3, 2, 2}, {2, 3, 1, 1}, {}},
                                   Images{{2, 7, 6}, {2, 2, 3, 2}, {.padding = 2, .dilation = 2}},
                                   Images{{1, 8, 7}, {2, 1, 2, 3}, {.stride = 2, .padding = 1, .dilation = 3}},
                                   Images{{4, 3, 4}, {6, 2, 2, 2}, {.padding = 1, .groups = 2}},
                                   Images{{3, 5, 4}, {3, 1, 3, 2}, {.stride = 2, .padding = 1, .groups = 3}},
                                   Images{{2, 3, 9}, {2, 2, 1, 5}, {.stride = {1, 2}, .padding = {0, 2}}},
                                   Images{{2, 4, 5}, {4, 1, 4, 1}, {.groups = 2}},
                                   Images{{1, 7, 6}, {2, 1, 3, 2}, {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 3}}},
                                   Images{{1, 7, 4}, {1, 1, 2, 3}, {.padding = {3, 1}, .dilation = {4, 1}}}})
    check.run("conv2d", [how = walk](auto in) { return square(conv2d(in[0], in[1], how)); }, {Shape::per_sample(x), w});
}

}  // namespace gradual
