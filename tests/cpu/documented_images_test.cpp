// The code of docs/guides/images.md, beside loops and formulas.
#include <cmath>
#include <optional>
#include <tuple>

#include "../documented.hpp"

namespace documented_images_test {

using namespace documented;

constexpr Var pixels(Var bytes) {  // u8[rows][columns][3], as cameras and files have them, to [3, rows, columns]
  const Var x = transpose(bytes, {0, 3, 1, 2}) / 255.0;
  return (x - lookup(iota(x, 1), {0.485, 0.456, 0.406})) / lookup(iota(x, 1), {0.229, 0.224, 0.225});
}

struct Residual {
  nn::Conv2d first, second;
  nn::GroupNorm first_norm, second_norm;
  std::optional<nn::Conv2d> projection;  // where shapes differ
  constexpr Residual(Scope s, int in, int out, int stride = 1)
      : first(s / "first", in, out, 3, {.stride = stride, .padding = 1}, init::kaiming_normal(9 * in), {.bias = false}),
        second(s / "second", out, out, 3, {.padding = 1}, init::kaiming_normal(9 * out), {.bias = false}),
        first_norm(s / "first_norm", 4, out), second_norm(s / "second_norm", 4, out) {
    if (stride > 1 || in != out) projection.emplace(s / "projection", in, out, 1, Walk{.stride = stride});
  }
  constexpr Var operator()(Var x) const {
    const Var y = second_norm(second(relu(first_norm(first(x)))));
    return relu(y + (projection ? (*projection)(x) : x));
  }
};

struct UNet {  // of images u8[1][16][16] and their labels i32[16][16], 255 where none is known
  Residual fine, coarse, both;
  nn::ConvTranspose2d larger;
  nn::Conv2d output;
  constexpr explicit UNet(Scope s)
      : fine(s / "fine", 1, 8), coarse(s / "coarse", 8, 16), both(s / "both", 16, 8),
        larger(s / "larger", 16, 8, 2, {.stride = 2}), output(s / "output", 8, 3, 1) {}
  constexpr Var predict(Var x) const {  // [3, 16, 16]
    const Var f = fine(x / 255.0), c = coarse(max_pool2d(f, 2));
    return output(both(concat({f, larger(c)}, 1)));
  }
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = transpose(predict(x), {0, 2, 3, 1}), guess = argmax(scores);  // classes last
    const Var taken = guess == 1.0, is = label == 1.0, either = maximum(taken, is) * (label != 255.0);
    return Loss(cross_entropy(scores, label, 255), metric("accuracy", guess == label), metric("iou", taken * is, either));
  }
};

constexpr Var dice(Var scores, Var label, std::int64_t classes, std::int32_t unknown) {  // scores [rows, columns, classes]
  const Var target = one_hot(label, classes, unknown), p = softmax(scores) * sum(target, {3}, true);
  return 1.0 - mean((2.0 * sum(p * target, {1, 2}) + 1.0) / (sum(p + target, {1, 2}) + 1.0), {1});
}

constexpr Var focal(Var score, Var heat) {  // heat [classes, rows, columns]: 1 at the middle of an object, less around it
  const Var p = sigmoid(score), is = heat == 1.0;
  const Var cost = where(is, square(1.0 - p) * log_sigmoid(score), square(square(1.0 - heat) * p) * log_sigmoid(-score));
  return -sum(cost, {1, 2, 3}) / maximum(sum(is, {1, 2, 3}), 1.0);
}

constexpr Var repeated(Var x) {  // [channels, rows, columns] to twice as many rows and columns
  const auto [c, h, w] = std::array{x.shape().extent[1], x.shape().extent[2], x.shape().extent[3]};
  const Var four = broadcast(reshape(x, Shape::per_sample({c, h, 1, w, 1})), Shape::per_sample({c, h, 2, w, 2}));
  return reshape(four, Shape::per_sample({c, 2 * h, 2 * w}));
}

constexpr Var shuffled(Var x) {  // [4 * channels, rows, columns] to [channels, 2 * rows, 2 * columns]: PixelShuffle(2)
  const auto [c, h, w] = std::array{x.shape().extent[1] / 4, x.shape().extent[2], x.shape().extent[3]};
  const Var apart = transpose(reshape(x, Shape::per_sample({c, 2, 2, h, w})), {0, 1, 4, 2, 5, 3});
  return reshape(apart, Shape::per_sample({c, 2 * h, 2 * w}));
}

constexpr Var smooth(Var x) {  // to twice as many rows and columns, bilinear, as PyTorch's with align_corners=False
  const std::int64_t channels = x.shape().extent[1];
  const Var ones = constant_like(x, Shape{channels, 1, 4, 4}, 1);
  const auto along = [&](int axis) { return lookup(iota(ones, axis), {0.25, 0.75, 0.75, 0.25}); };
  const Var kernel = along(2) * along(3);
  const auto spread = [&](Var y) { return conv_transpose2d(y, kernel, {.stride = 2, .padding = 1, .groups = channels}); };
  return spread(x) / spread(constant_like(x, 1));  // fewer pixels are met at the edges
}

constexpr Var resampled(Var x, Var scale, Var shift) {  // columns, by numbers [1, 1] of each sample
  const Shape shape = x.shape();
  const std::int64_t columns = shape.extent[3];
  const Var grid = broadcast(scale, Shape::per_sample({columns, columns}));
  const Var in = convert(iota(grid, 1), DType::f32), out = convert(iota(grid, 2), DType::f32);
  const double middle = 0.5 * static_cast<double>(columns - 1);
  const Var from = (out - middle) * scale + middle + shift;  // between pixels linearly, beyond them 0
  const Var rows = reshape(x, Shape::per_sample({shape.extent[1] * shape.extent[2], columns}));
  return reshape(matmul(rows, maximum(1.0 - abs(from - in), 0.0)), shape);
}

constexpr Var augmented(Var x) {  // in evaluation x itself
  const Var one = reshape(mean(x, {1, 2, 3}), Shape::per_sample({1, 1}));
  const Var side = normal_like(one), right = normal_like(one), down = normal_like(one);
  x = resampled(x, where(side > 0.0, -1.0, 1.0), 1.5 * right);  // mirrored or not, and moved
  x = transpose(resampled(transpose(x, {0, 1, 3, 2}), constant_like(one, 1), 1.5 * down), {0, 1, 3, 2});
  return x * reshape(1.0 + 0.1 * normal_like(one), Shape::per_sample({1, 1, 1}));
}

struct Classifier {
  nn::Conv2d first, second;
  nn::Linear output;
  constexpr explicit Classifier(Scope s)
      : first(s / "first", 1, 8, 3, {.padding = 1}), second(s / "second", 8, 16, 3, {.padding = 1}),
        output(s / "output", 16, 10) {}
  constexpr Var features(Var x) const { return relu(second(max_pool2d(relu(first(x)), 2))); }
  constexpr Var scores(Var of) const { return output(mean(of, {2, 3})); }
  constexpr Var predict(Var x) const { return scores(features(x)); }
  constexpr Loss loss(Var x, Var label) const {
    const Var of = predict(augmented(x));
    return {cross_entropy(of, label), metric("accuracy", argmax(of) == label)};
  }
};

struct Seen : Classifier {  // what the guess was made of: Grad-CAM
  using Classifier::Classifier;
  constexpr Var predict(Var x) const {
    const Var of = features(x), slope = gradients(max(scores(of), {1}), {of})[0];
    return relu(sum(mean(slope, {2, 3}, true) * of, {1}));
  }
};

struct Attacked : Classifier {  // the images that are harder by the sign of each pixel's gradient
  using Classifier::Classifier;
  constexpr Var predict(Var x, Var label) const {
    return x + 0.1 * sign(gradients(cross_entropy(scores(features(x)), label), {x})[0]);
  }
};

using Images = Compiled<Classifier, Inputs<f32[1][8][8], i32>>;
using Maps = Compiled<Seen, Inputs<f32[1][8][8]>>;
using Attacks = Compiled<Attacked, Inputs<f32[1][8][8], i32>>;

/// Returns what f computes from samples x of a shape.
template <class F>
std::vector<float> made(const std::vector<float>& x, const Shape& shape, F f) {
  Parameters none(Device::cpu());
  none.initialize(0);
  EagerTape tape(none, std::ssize(x) / shape.product(0, shape.rank));
  const Tensor y = value(f(tape.input(std::span(x), shape)));
  const std::span<const float> values = y.values<float>();
  return {values.begin(), values.end()};
}

TEST(DocumentedImages, PixelsOfFilesAreNormalisedChannelByChannel) {
  const std::vector<float> x = models::numbers(2 * 4 * 3 * 3);
  const std::vector<float> y = made(x, {4, 3, 3}, pixels);
  const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t at = 0; at < 12; ++at)
        EXPECT_NEAR(y[(i * 3 + c) * 12 + at], (x[(i * 12 + at) * 3 + c] / 255 - mean[c]) / deviation[c], 1e-5);
}

TEST(DocumentedImages, AreEnlarged) {
  const std::vector<float> x = models::numbers(8 * 2 * 3);
  const std::vector<float> twice = made(x, {8, 2, 3}, repeated), shuffle = made(x, {8, 2, 3}, shuffled);
  for (std::size_t c = 0; c < 8; ++c)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 6; ++j)
        EXPECT_EQ(twice[(c * 4 + i) * 6 + j], x[(c * 2 + i / 2) * 3 + j / 2]);
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 6; ++j)
        EXPECT_EQ(shuffle[(c * 4 + i) * 6 + j], x[((c * 4 + i % 2 * 2 + j % 2) * 2 + i / 2) * 3 + j / 2]);
}

TEST(DocumentedImages, AreEnlargedSmoothly) {
  const std::vector<float> x = models::numbers(2 * 3 * 5), y = made(x, {2, 3, 5}, smooth);
  const auto met = [](std::size_t out, std::size_t count) {  // the two pixels beside an output's middle, and the second's share
    const double at = std::max(0.0, 0.5 * static_cast<double>(out) - 0.25);
    const auto first = static_cast<std::size_t>(at);
    return std::tuple(first, std::min(first + 1, count - 1), at - static_cast<double>(first));
  };
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 10; ++j) {
        const auto [above, below, down] = met(i, 3);
        const auto [left, right, over] = met(j, 5);
        const auto row = [&, l = left, r = right, o = over](std::size_t k) {
          return (1 - o) * x[(c * 3 + k) * 5 + l] + o * x[(c * 3 + k) * 5 + r];
        };
        EXPECT_NEAR(y[(c * 6 + i) * 10 + j], (1 - down) * row(above) + down * row(below), 1e-6);
      }
}

TEST(DocumentedImages, AreMirroredMovedAndScaled) {
  const std::vector<float> x = models::numbers(2 * 3 * 4);
  const auto by = [&](double scale, double shift) {
    return made(x, {2, 3, 4}, [=](Var in) {
      const Var one = reshape(mean(in, {1, 2, 3}), Shape::per_sample({1, 1}));
      return resampled(in, constant_like(one, scale), constant_like(one, shift));
    });
  };
  EXPECT_EQ(by(1, 0), x);
  const std::vector<float> mirrored = by(-1, 0), moved = by(1, 1.25), twice = by(0.5, 0);
  for (std::size_t row = 0; row < 24; row += 4)
    for (std::size_t j = 0; j < 4; ++j) {
      const auto at = [&](std::size_t k) { return k < 4 ? x[row + k] : 0.0f; };
      EXPECT_EQ(mirrored[row + j], at(3 - j));
      EXPECT_NEAR(moved[row + j], 0.75f * at(j + 1) + 0.25f * at(j + 2), 1e-6);
      const double from = 1.5 + 0.5 * (static_cast<double>(j) - 1.5), part = from - std::floor(from);
      const auto k = static_cast<std::size_t>(from);
      EXPECT_NEAR(twice[row + j], (1 - part) * at(k) + part * at(k + 1), 1e-6);
    }
}

TEST(DocumentedImages, DiceIsOfTheKnownPixelsAlone) {
  const std::vector<float> x = models::numbers(2 * 3 * 3);
  const std::vector<std::int32_t> labels{0, 2, 255, 1, 2, 2};
  Parameters none(Device::cpu());
  none.initialize(0);
  EagerTape tape(none, 1);
  const Var scores = tape.input(std::span(x), {2, 3, 3}), label = tape.input(std::span(labels), {2, 3});
  const Tensor loss = value(dice(scores, label, 3, 255));
  double both[3] = {}, total[3] = {};
  for (std::size_t at = 0; at < 6; ++at) {
    if (labels[at] == 255) continue;
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += std::exp(x[at * 3 + c]);
    for (std::size_t c = 0; c < 3; ++c) {
      const double p = std::exp(x[at * 3 + c]) / sum, is = labels[at] == static_cast<std::int32_t>(c);
      both[c] += p * is, total[c] += p + is;
    }
  }
  double mean = 0;
  for (int c = 0; c < 3; ++c) mean += (2 * both[c] + 1) / (total[c] + 1) / 3;
  EXPECT_NEAR(loss.values<float>()[0], 1 - mean, 1e-6);
}

TEST(DocumentedImages, FocalLossIsThatOfHeatMaps) {
  const std::vector<float> score = models::numbers(2 * 2 * 2);
  const std::vector<float> heat{0, 0.5f, 1, 0.25f, 0, 0, 1, 0.75f};
  Parameters none(Device::cpu());
  none.initialize(0);
  EagerTape tape(none, 1);
  const Var s = tape.input(std::span(score), {2, 2, 2}), h = tape.input(std::span(heat), {2, 2, 2});
  const Tensor loss = value(focal(s, h));
  double sum = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const double p = 1 / (1 + std::exp(-score[i]));
    sum -= heat[i] == 1 ? std::pow(1 - p, 2) * std::log(p) : std::pow(1 - heat[i], 4) * p * p * std::log(1 - p);
  }
  EXPECT_NEAR(loss.values<float>()[0], sum / 2, 1e-6);
}

TEST(DocumentedImages, AreAugmentedInTrainingAlone) {
  const std::vector<float> x = models::numbers(64 * 64);
  const std::vector<std::int32_t> y = models::labels(64, 10);
  Session session(Images{}, optimizer, {.global_batch = 64});
  const double before = session.evaluate(x, y).loss();
  const std::vector<float> scores = session.predict(x);
  double plain = 0;  // of images as they are
  for (std::size_t i = 0; i < 64; ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < 10; ++c) sum += std::exp(scores[i * 10 + c]);
    plain += (std::log(sum) - scores[i * 10 + static_cast<std::size_t>(y[i])]) / 64;
  }
  EXPECT_NEAR(before, plain, 1e-5);
  session.accumulate(x, y);
  EXPECT_GT(std::abs(session.last_window().loss() - before), 1e-4);
}

TEST(DocumentedImages, AreExplainedAndAttacked) {
  const std::vector<float> x = models::numbers(2 * 64);
  const std::vector<std::int32_t> y{3, 7};
  Session session(Images{}, optimizer, {.global_batch = 64});
  Inference<Maps> seen(session.parameters());
  std::vector<float> maps(2 * 16), harder(2 * 64);
  seen(x, maps);
  EXPECT_GT(std::ranges::max(maps), 0);
  Inference<Attacks> attack(session.parameters());
  attack(x, y, harder);
  const std::vector<float> before = session.losses(x, y), after = session.losses(harder, y);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_GT(after[i], before[i]);
}

TEST(DocumentedImages, AreSegmented) {
  std::vector<std::uint8_t> x(64 * 256);
  std::vector<std::int32_t> y(64 * 256);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t image = i / 256, row = i / 16 % 16, column = i % 16;
    const int label = row >= image % 8 && row < image % 8 + 6 ? column < 6 ? 1 : column > 9 ? 2 : 0 : 0;
    x[i] = static_cast<std::uint8_t>(label == 1 ? 200 : label == 2 ? 120 : 20);
    y[i] = i % 16 == 0 ? 255 : label;
  }
  using Net = Compiled<UNet, Inputs<u8[1][16][16], i32[16][16]>>;
  Trainer trainer(Net{}, Accumulate{Adam{.learning_rate = 1e-2f}}, {.global_batch = 16});
  const auto data = Dataset<u8, i32>::of(64, x, y);
  trainer.fit(data, {.epochs = 6});
  const Averages seen = trainer.evaluate(data);
  EXPECT_GT(seen.metric(Net::metric("iou")), 0.95);
  std::int64_t both = 0, either = 0;  // the same of all pixels
  const std::vector<float> scores = trainer.predict(x);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t at = i / 256 * 768 + i % 256;
    const bool taken = scores[at + 256] > scores[at] && scores[at + 256] >= scores[at + 512];
    if (y[i] == 255) continue;
    both += taken && y[i] == 1;
    either += taken || y[i] == 1;
  }
  EXPECT_NEAR(seen.metric(Net::metric("iou")), static_cast<double>(both) / static_cast<double>(either), 1e-6);

  Inference<Compiled<UNet, Inputs<u8[1][32][32]>>> larger(trainer.parameters());  // of larger images
  std::vector<std::uint8_t> four(1024);
  for (std::size_t i = 0; i < 1024; ++i) four[i] = x[i / 32 % 16 * 16 + i % 16];
  std::vector<float> of_four(3 * 1024);
  larger(four, of_four);
  int right = 0;
  for (std::size_t i = 0; i < 1024; ++i) {
    const std::int32_t guess = of_four[i] > of_four[1024 + i] && of_four[i] > of_four[2048 + i] ? 0
                               : of_four[1024 + i] > of_four[2048 + i]                          ? 1
                                                                                                : 2;
    right += guess == y[i / 32 % 16 * 16 + i % 16];
  }
  EXPECT_GT(right, 800);
}

}  // namespace documented_images_test
