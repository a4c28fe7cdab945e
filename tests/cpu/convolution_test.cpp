// Convolutions and pooling: splits, threads, eager and compiled give equal bits; what does not fit is refused.
#include <gtest/gtest.h>

#include "../models.hpp"

using namespace models;

namespace {

constexpr std::int64_t window = 60, pixels = 2 * 16 * 12;
constexpr auto optimizer = Accumulate{Adam{.learning_rate = 1e-2f}};

struct Data {
  std::vector<float> x = numbers(3 * window * pixels);
  std::vector<std::int32_t> y = labels(3 * window, 5);
};

/// Trains three windows in micro-batches whose sizes repeat `sizes`.
template <class Step>
void for_parts(const std::vector<std::int64_t>& sizes, Step step) {
  std::int64_t at = 0;
  for (std::size_t k = 0; at < 3 * window; ++k) {
    const std::int64_t count = std::min(sizes[k % sizes.size()], 3 * window - at);
    step(at, count);
    at += count;
  }
}

std::vector<float> compiled(const Data& data, const std::vector<std::int64_t>& sizes, int threads = 1) {
  Session session(ConvolutionalNet{}, optimizer, {.global_batch = window, .micro_batch = window, .threads = threads});
  for_parts(sizes, [&](std::int64_t at, std::int64_t count) {
    session.accumulate(std::span(data.x).subspan(at * pixels, count * pixels), std::span(data.y).subspan(at, count));
  });
  EXPECT_EQ(session.step_count(), 3);
  const std::span<const float> values = session.parameters().values();
  return {values.begin(), values.end()};
}

std::vector<float> eager(const Data& data, const std::vector<std::int64_t>& sizes) {
  Parameters parameters(Device::cpu());
  const Convolutional net(parameters.root());
  Session session(parameters, optimizer, {.global_batch = window, .micro_batch = window});
  for_parts(sizes, [&](std::int64_t at, std::int64_t count) {
    session.accumulate(count, [&](EagerTape& tape) {
      return net.loss(tape.input(std::span(data.x).subspan(at * pixels, count * pixels), {2, 16, 12}),
                      tape.input(std::span(data.y).subspan(at, count)));
    });
  });
  return {parameters.values().begin(), parameters.values().end()};
}

TEST(Convolutions, SplitsAndThreadsGiveEqualBits) {
  const Data data;
  const std::vector<float> whole = compiled(data, {60});
  EXPECT_EQ(whole, compiled(data, {7, 1, 30, 22}));
  EXPECT_EQ(whole, compiled(data, {16}));
  EXPECT_EQ(whole, compiled(data, {25}, 2));
}

TEST(Convolutions, EagerAndCompiledGiveEqualBits) {
  const Data data;
  const std::vector<float> whole = compiled(data, {60});
  EXPECT_EQ(whole, eager(data, {60}));
  EXPECT_EQ(whole, eager(data, {13, 21}));
}

TEST(Convolutions, KnownValues) {
  EagerTape tape(Device::cpu());
  const std::vector<float> image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Var x = tape.input(image, {1, 3, 3});
  const auto kernel = [&](std::initializer_list<float> w, const Shape& shape) {
    return tape.input(Tensor::from(Device::cpu(), w, shape));
  };
  const Tensor valid = value(conv2d(x, kernel({1, 0, 0, -1}, {1, 1, 2, 2})));  // x[i, j] − x[i + 1, j + 1]
  for (int i = 0; i < 4; ++i) EXPECT_EQ(valid[i], -4);
  const Tensor strided = value(conv2d(x, kernel({1, 1, 1, 1}, {1, 1, 2, 2}), {.stride = 2, .padding = 1}));
  EXPECT_EQ(strided[0], 1);
  EXPECT_EQ(strided[1], 2 + 3);
  EXPECT_EQ(strided[2], 4 + 7);
  EXPECT_EQ(strided[3], 5 + 6 + 8 + 9);
  const std::vector<float> wide = {1, 5, 2, 2, -1, 0, 2, 2};
  const Tensor pooled = value(max_pool2d(tape.input(wide, {1, 2, 4}), 2));
  EXPECT_EQ(pooled[0], 5);
  EXPECT_EQ(pooled[1], 2);
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const ShapeError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Convolutions, WhatDoesNotFitIsRefusedWithItsNumbers) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3, 8, 6}), DType::f32);
  const auto weights = [&](const Shape& shape) { return input(tape, shape, DType::f32); };
  EXPECT_EQ(message_of([&] { conv2d(x, weights({4, 2, 3, 3})); }), "conv2d: images have 3 channels, weights are for 2");
  EXPECT_EQ(message_of([&] { conv2d(x, weights({4, 3, 3, 7})); }),
            "conv2d: a kernel of 3 x 7 does not fit images of 8 x 6 with a padding of 0");
  EXPECT_EQ(message_of([&] { conv2d(x, weights({4, 3, 3, 3}), {.padding = 3}); }),
            "conv2d: a kernel of 3 x 3 does not fit images of 8 x 6 with a padding of 3");
  EXPECT_EQ(message_of([&] { conv2d(x, weights({4, 3, 3, 3}), {.stride = 0}); }), "conv2d: a stride of 0 and a padding of 0");
  EXPECT_EQ(message_of([&] { conv2d(weights({1, 3, 8, 6}), weights({4, 3, 3, 3})); }),
            "conv2d: needs images [batch, channels, height, width] and weights [outputs, channels, rows, columns], got "
            "[1, 3, 8, 6] and [4, 3, 3, 3]");
  EXPECT_EQ(message_of([&] { max_pool2d(x, 4); }), "max_pool2d: windows of 4 x 4 do not divide images [batch, 3, 8, 6]");
}

}  // namespace
