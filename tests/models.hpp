#pragma once
// Models and data that several tests share.
#include <gradual/check/differing_bits.hpp>
#include <gradual/gradual.hpp>

#include <cstring>
#include <vector>

namespace models {

using namespace gradual;

/// A classifier with a relu layer.
struct Classifier {
  nn::Linear hidden, output;
  constexpr explicit Classifier(Scope s) : hidden(s / "hidden", 9, 17), output(s / "output", 17, 5) {}
  constexpr Var predict(Var x) const { return output(relu(hidden(x))); }
  constexpr Loss loss(Var x, Var label) const {
    Var scores = predict(x);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};

/// A regression through tanh and sigmoid whose samples have weights.
struct WeightedRegression {
  nn::Linear first, second;
  constexpr explicit WeightedRegression(Scope s) : first(s / "first", 4, 33), second(s / "second", 33, 3) {}
  constexpr Var predict(Var x) const { return second(tanh(first(x))); }
  constexpr Loss loss(Var x, Var y, Var weight) const {
    Var error = sigmoid(predict(x)) - y;
    return Loss(sum(error * error, {-1})).weighted_by(weight);
  }
};

/// A sequence model: three positions per sample share the weights, and a scale for each position is broadcast.
struct Sequence {
  nn::Linear inner, outer;
  Parameter scale;
  constexpr explicit Sequence(Scope s)
      : inner(s / "inner", 6, 8), outer(s / "outer", 8, 2), scale(s.parameter("scale", Shape{3, 1}, init::constant(1.5))) {}
  constexpr Loss loss(Var x, Var y) const {
    Var error = outer(tanh(inner(x) * scale)) - y;
    return {mean(error * error, {1, 2})};
  }
};

/// Samples in pieces: padded along rows and columns, also inside sums, stored, and read one by one.
struct Pieces {
  nn::Linear inner;
  Parameter scale;
  constexpr explicit Pieces(Scope s) : inner(s / "inner", 3, 7), scale(s.parameter("scale", Shape{5, 4}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var some = slice(scale.on(x), 0, 1, 3), y = concat({x * some, slice(x, 1, 1, 2)}, 1);
    const Var later = pad(slice(x, 2, 1, 3), 1, 2, 0, 0.5) * slice(y, 2, 0, 3);  // whole rows, and parts of rows
    const Var steps = tanh(inner(later));  // [batch, 5, 7]
    const Var wide = concat({steps, pad(y, 2, 1, 0, 0.5), slice(steps, 2, 3, 2)}, 2);
    const Var ends = stack({select(wide, 1, -1), select(wide, 1, 0)});
    return Loss(sum(square(pad(steps, 1, 1, 2, 0.25)), {1, 2}) + sum(wide * wide, {1, 2}) + max(flatten(ends), {1}));
  }
};

/// Steps that are read one by one and joined again, in both directions, and all rows of a parameter but one: joins of many
/// pieces that are reduced by rows, and as a whole.
struct JoinedSteps {
  nn::Linear inner;
  Parameter weight;
  constexpr explicit JoinedSteps(Scope s)
      : inner(s / "inner", 8, 8), weight(s.parameter("weight", Shape{10, 8}, init::uniform(0.9))) {}
  constexpr Loss loss(Var x) const {
    const Var steps = inner(x), w = weight.on(x);
    std::vector<Var> states, turned;
    Var h = select(steps, 1, 0);
    for (int t = 1; t < 10; ++t) states.push_back(h = tanh(h * select(w, 0, t) + select(steps, 1, t)));
    for (int t = 8; t >= 0; --t) turned.push_back(states[static_cast<std::size_t>(t)]);
    const Var all = stack(states, 1), back = stack(turned, 1);
    const Var likely = softmax(all) * slice(x, 1, 0, 9), alike = matmul(back, all, false, true);
    return Loss(sum(likely, {1, 2}) + sum(all * back, {1, 2}) + max(flatten(alike), {1}));
  }
};

/// Pieces pass through the same layers, and their results once more: uses by the same op and shape, which are joined,
/// beside one of another shape, a gain, and a layer that is too small to be joined.
struct Shared {
  nn::Linear inner, outer;
  Parameter gain;
  constexpr explicit Shared(Scope s)
      : inner(s / "inner", 36, 36), outer(s / "outer", 36, 2), gain(s.parameter("gain", Shape{36}, init::constant(0.75))) {}
  constexpr Var hidden(Var x) const { return tanh(inner(x) * gain); }
  constexpr Loss loss(Var x, Var y) const {
    const Var whole = slice(inner(x), 1, 1, 2);  // all pieces at once: [batch, 2, 36]
    const Var apart = hidden(select(x, 1, 0)) - hidden(select(x, 1, 2));  // compilers record them in either order
    const Var error = outer(hidden(apart) + sum(whole * whole, {1})) + outer(apart) - y;
    return {mean(error * error, {1})};
  }
};

/// A classifier that drops inputs, hidden values and weights, with noise of both kinds.
struct Dropped {
  nn::Linear hidden, output;
  constexpr explicit Dropped(Scope s) : hidden(s / "hidden", 9, 17), output(s / "output", 17, 5) {}
  constexpr Var predict(Var x) const {
    Var h = hidden(dropout(x, 0.2));
    h = h + 0.1 * normal_like(h);
    h = dropout(relu(h), 0.5) + dropout(tanh(h), 0.5);  // compilers record them in either order
    const Var weight = dropout(output.weight().on(h), 0.25);
    return matmul(h, weight + 0.1 * uniform_like(weight)) + output.bias();
  }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};

/// Computed weights that are then read transposed: a view of a value that its own kernel could otherwise have kept in
/// registers.
struct Tied {
  Parameter weight;
  constexpr explicit Tied(Scope s) : weight(s.parameter("weight", Shape{4, 4}, init::uniform(0.9))) {}
  constexpr Loss loss(Var x, Var y) const {
    const Var w = tanh(weight.on(x));
    const Var code = tanh(matmul(x, w));
    return {mse(matmul(code, transpose(w, {1, 0})), y)};
  }
};

/// Convolutions: samples with more positions than a block and with few, chains longer than a block, strides.
struct Convolutional {
  nn::Conv2d first, second;
  nn::Linear output;
  constexpr explicit Convolutional(Scope s)
      : first(s / "first", 2, 17, 3, {.padding = 1}), second(s / "second", 17, 19, 3, {.stride = 2, .padding = 1}),
        output(s / "output", 19 * 4 * 3, 5) {}
  constexpr Var predict(Var x) const { return output(flatten(tanh(second(max_pool2d(relu(first(x)), 2))))); }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};

/// Causal convolutions over time, with increasing dilation.
struct Temporal {
  nn::Conv1d first, second;
  nn::Linear output;
  constexpr explicit Temporal(Scope s)
      : first(s / "first", 2, 17, 3), second(s / "second", 17, 19, 3, {.dilation = 2}), output(s / "output", 19 * 7, 5) {}
  constexpr Var predict(Var x) const {
    const Var near = tanh(first(pad(x, 2, 2, 0)));
    return output(flatten(max_pool1d(relu(second(pad(near, 2, 4, 0))), 2, {.padding = 1})));
  }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};

/// Convolutions in groups: of one channel with several outputs, depthwise, and of several channels with fewer outputs.
struct Separable {
  nn::Conv2d wider, each, narrower;
  nn::Linear output;
  constexpr explicit Separable(Scope s)
      : wider(s / "wider", 2, 12, 1, {.groups = 2}), each(s / "each", 12, 12, 3, {.stride = 2, .padding = 1, .groups = 12}),
        narrower(s / "narrower", 12, 9, 2, {.groups = 3}), output(s / "output", 9 * 4 * 3, 5) {}
  constexpr Var predict(Var x) const { return output(flatten(tanh(narrower(relu(each(tanh(wider(x)))))))); }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};

/// Kernels, strides, paddings, dilations and windows that differ by axis: over time, over both, larger again, over space.
struct Rectangular {
  nn::Conv2d time, both, space;
  nn::ConvTranspose2d longer;
  nn::Linear output;
  constexpr explicit Rectangular(Scope s)
      : time(s / "time", 2, 4, {1, 8}, {.padding = {0, 4}}),
        both(s / "both", 4, 5, {3, 2}, {.stride = {1, 2}, .padding = {2, 1}, .dilation = {2, 1}}),
        space(s / "space", 4, 8, {5, 1}, {.groups = 4}),
        longer(s / "longer", 5, 4, {2, 3}, {.stride = {1, 2}, .padding = {1, 0}}, {0, 1}), output(s / "output", 8 * 4, 5) {}
  constexpr Var predict(Var x) const {  // [2, 6, 21]
    const Var pooled = max_pool2d(relu(both(tanh(time(x)))), {1, 3});                       // [5, 6, 4]
    const Var means = avg_pool2d(space(tanh(longer(pooled))), {1, 4}, {.stride = {0, 2}});  // [8, 1, 4]
    return output(flatten(tanh(means)));
  }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};

/// Upsampling: transposed convolutions of images and of series, with strides, groups and zeros, and norms of groups of
/// channels.
struct Decoder {
  nn::Linear code;
  nn::ConvTranspose2d wider, each;
  nn::GroupNorm norm;
  nn::ConvTranspose1d series;
  nn::Linear output;
  constexpr explicit Decoder(Scope s)
      : code(s / "code", 7, 8 * 2 * 3), wider(s / "wider", 8, 12, 4, {.stride = 2, .padding = 1}),
        each(s / "each", 12, 6, 3, {.stride = 2, .padding = 1, .dilation = 2, .groups = 6}, 1), norm(s / "norm", 3, 12),
        series(s / "series", 6, 2, 3, {.stride = 3, .padding = 1}), output(s / "output", 2 * 418, 5) {}
  constexpr Var predict(Var x) const {
    const Var image = reshape(tanh(code(x)), Shape::per_sample({8, 2, 3}));
    const Var many = relu(each(relu(norm(wider(image)))));
    return output(flatten(tanh(series(reshape(many, Shape::per_sample({6, 10 * 14}))))));
  }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};

/// Tokens: rows of a table that many positions share, and causal attention.
struct Tokens {
  nn::Embedding table;
  nn::Linear query, key, output;
  constexpr explicit Tokens(Scope s)
      : table(s / "table", 11, 6), query(s / "query", 6, 5), key(s / "key", 6, 5), output(s / "output", 6, 11) {}
  constexpr Loss loss(Var token, Var next) const {
    const Var x = table(token);
    const Var q = query(x), k = key(x);
    const Var agreement = matmul(q, k, false, true);
    const Var seen = iota(agreement, 2) <= iota(agreement, 1);
    const Var attention = softmax(where(seen, agreement, -1e9));
    const Var mixed = matmul(attention, x);
    return {mean(cross_entropy(output(x + mixed), next), {1})};
  }
};

/// Every kind of sum over samples, followed by a product, a sum of uses and functions of parameters; a penalty.
struct Sums {
  nn::Conv2d convolution;
  nn::Embedding table;
  nn::Linear output;
  Parameter left, right;
  constexpr explicit Sums(Scope s)
      : convolution(s / "convolution", 1, 5, 3), table(s / "table", 7, 4), output(s / "output", 5, 3),
        left(s.parameter("left", Shape{4, 2}, init::uniform(0.9))),
        right(s.parameter("right", Shape{2, 5}, init::uniform(0.9))) {}
  constexpr Loss loss(Var image, Var token, Var label) const {
    const Var weights = matmul(left.on(image), tanh(right.on(image)));
    const Var x = flatten(relu(max_pool2d(convolution(image), 2))) + matmul(table(token), weights);
    const Var w = left.on(image);
    return Loss{cross_entropy(output(x), label)}.plus(0.01 * sum(w * w, {0, 1}));
  }
};

/// Values of 16 bits through every kind of kernel; a layer whose two uses are one sum; the sums over samples are followed
/// by products and functions of parameters; a penalty.
struct Narrow {
  nn::Conv2d convolution;
  nn::LayerNorm norm;
  nn::Linear inner, output;
  Parameter table, left, right;
  constexpr explicit Narrow(Scope s)
      : convolution(s / "convolution", 1, 5, 3), norm(s / "norm", 5), inner(s / "inner", 36, 36),
        output(s / "output", 5, 3), table(s.parameter("table", Shape{7, 4}, init::uniform(0.9))),
        left(s.parameter("left", Shape{4, 2}, init::uniform(0.9))),
        right(s.parameter("right", Shape{2, 5}, init::uniform(0.9))) {}
  constexpr Var predict(Var image, Var token) const {
    const Var weights = matmul(left.on(image), tanh(right.on(image)));
    const Var rows = gather(table.on(image), token);
    const Var pixels = flatten(relu(max_pool2d(convolution(image), 2)));
    const Var twice = tanh(inner(tanh(inner(pad(flatten(image), 1, 10, 10)))));
    const Var x = pixels + slice(twice, 1, 0, 5);
    return output(dropout(norm(x + matmul(rows, weights)), 0.25));
  }
  constexpr Loss loss(Var image, Var token, Var label) const {
    const Var scores = predict(image, token), w = left.on(image);
    return Loss{cross_entropy(scores, label), metric("largest", max(scores, {1}))}.plus(0.01 * sum(w * w, {0, 1}));
  }
};

/// Messages along the edges of each sample's own graph, more than a block of them, some of which are missing (-1).
struct Edges {
  nn::Linear node, message, output;
  constexpr explicit Edges(Scope s)
      : node(s / "node", 3, 6), message(s / "message", 12, 6), output(s / "output", 6, 2) {}
  constexpr Loss loss(Var x, Var edges, Var y) const {
    const Var from = select(edges, 1, 0), to = select(edges, 1, 1);
    Var h = tanh(node(x));
    const Var sent = tanh(message(concat({gather(h, from, -1), gather(h, to, -1)}, 2)));
    h = h * scatter_add(sent, to, 5, -1);
    return {mse(output(sum(h, {1})), y)};
  }
};
/// Returns the two ends of each edge, -1 for missing ones.
inline std::vector<std::int32_t> edges(std::size_t samples) {
  std::vector<std::int32_t> result(samples * 280);
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = i % 140 % 11 > i / 280 % 11 ? -1 : static_cast<std::int32_t>((i * 7 + i / 3) % 5);
  return result;
}

template <class E>
using EdgesNet = Compiled<Edges, Inputs<E[5][3], i32[2][140], E[2]>>;
template <class E>
using NarrowNet = Compiled<Narrow, Inputs<E[1][4][4], i32, i32>>;
using SumsNet = Compiled<Sums, Inputs<f32[1][4][4], i32, i32>>;
using TokensNet = Compiled<Tokens, Inputs<i32[7], i32[7]>>;
using ConvolutionalNet = Compiled<Convolutional, Inputs<f32[2][16][12], i32>>;
using ClassifierNet = Compiled<Classifier, Inputs<f32[9], i32>>;
using DroppedNet = Compiled<Dropped, Inputs<f32[9], i32>>;
using TiedNet = Compiled<Tied, Inputs<f32[4], f32[4]>>;
using WeightedNet = Compiled<WeightedRegression, Inputs<f32[4], f32[3], f32>>;
using PiecesNet = Compiled<Pieces, Inputs<f32[3][4]>>;
template <class E>
using JoinedNet = Compiled<JoinedSteps, Inputs<E[10][8]>>;
using SharedNet = Compiled<Shared, Inputs<f32[3][36], f32[2]>>;
using SequenceNet = Compiled<Sequence, Inputs<f32[3][6], f32[3][2]>>;

/// Returns numbers in (−1, 1) that are the same on every machine; `numbers_in` rounds them to another type.
inline std::vector<float> numbers(std::size_t count, unsigned seed = 1) {
  std::vector<float> result(count);
  for (float& x : result) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return result;
}
template <class E>
std::vector<E> numbers_in(std::size_t count, unsigned seed = 1) {
  const std::vector<float> values = numbers(count, seed);
  return {values.begin(), values.end()};
}
inline std::vector<std::int32_t> labels(std::size_t count, std::int32_t classes) {
  std::vector<std::int32_t> result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = static_cast<std::int32_t>((i * 7 + i / 3) % static_cast<std::size_t>(classes));
  return result;
}

}  // namespace models
