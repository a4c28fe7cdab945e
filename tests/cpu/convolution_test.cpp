// Convolutions and pooling: splits, threads, eager and compiled give equal bits; what does not fit is refused.
#include <gtest/gtest.h>

#include "../both_ways.hpp"
#include "../error_of.hpp"

using namespace both_ways;

namespace {

const Samples<float> images{numbers(samples * 2 * 16 * 12), {2, 16, 12}};
const Samples<std::int32_t> classes{labels(samples, 5), {}};

TEST(Convolutions, SplitsThreadsEagerAndCompiledGiveEqualBits) {
  const std::vector<float> whole = train_compiled<ConvolutionalNet>({60}, 1, images, classes);
  EXPECT_EQ(whole, train_compiled<ConvolutionalNet>({7, 1, 30, 22}, 1, images, classes));
  EXPECT_EQ(whole, train_compiled<ConvolutionalNet>({25}, 2, images, classes));
  EXPECT_EQ(whole, train_eager<Convolutional>({60}, images, classes));
  EXPECT_EQ(whole, train_eager<Convolutional>({13, 21}, images, classes));
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

TEST(Convolutions, WhatDoesNotFitIsRefusedWithItsNumbers) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3, 8, 6}), DType::f32);
  const auto weights = [&](const Shape& shape) { return input(tape, shape, DType::f32); };
  EXPECT_EQ(error_of<Error>([&] {
              conv2d(x, input(tape, Shape{4, 3, 3, 3}, DType::f64));
            }),
            "conv2d: operands of float and double");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(input(tape, Shape::per_sample({1, 2, 2}), DType::i32), 2); }),
            "max_pool2d: operands of int32 and int32");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 2, 3, 3})); }), "conv2d: images have 3 channels, weights are for 2");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 3, 3, 7})); }),
            "conv2d: a kernel of 3 x 7 does not fit images of 8 x 6 with a padding of 0");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 3, 3, 3}), {.padding = 3}); }),
            "conv2d: a kernel of 3 x 3 does not fit images of 8 x 6 with a padding of 3");
  EXPECT_EQ(error_of<Error>([&] {
              conv2d(x, weights({4, 3, 3, 3}), {.stride = -1});
            }),
            "conv2d: a stride of -1 and a padding of 0");
  EXPECT_EQ(error_of<Error>([&] { conv2d(weights({1, 3, 8, 6}), weights({4, 3, 3, 3})); }),
            "conv2d: needs images [batch, channels, height, width] and weights [outputs, channels, rows, columns], got "
            "[1, 3, 8, 6] and [4, 3, 3, 3]");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(x, 7); }),
            "max_pool2d: windows of 7 x 7 with a stride of 7 and a padding of 0 do not fit images [batch, 3, 8, 6]");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(x, 3, {.padding = 2}); }),
            "max_pool2d: windows of 3 x 3 with a stride of 3 and a padding of 2 do not fit images [batch, 3, 8, 6]");
}

}  // namespace
