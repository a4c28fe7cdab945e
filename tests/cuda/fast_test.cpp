// Products and convolutions in Numerics::fast, by cuBLASLt and cuDNN on a GPU and by the twin's stand-ins elsewhere: within the
// stated bound of exact sums, whole nets close to the processor, whatever the split of the window.
#include <gradual/cuda_fast.hpp>

#include <algorithm>
#include <cmath>

#include "cuda_test.hpp"

namespace fast_test {

using namespace models;

/// With separate launches: in a single launch, no library computes anything.
template <Precision Used = Precision::float32>
using Library = CudaWith<Numerics::fast, Used, Launches::separate>;

template <class Net>
using OnGpu = On<Net, Library<>>;

/// One product forward; the gradient is a product over the window's samples.
struct Product {
  static constexpr int in = 70, out = 11;
  Parameter weight;
  constexpr explicit Product(Scope s) : weight(s.parameter("weight", Shape{in, out}, init::uniform(1))) {}
  constexpr Var predict(Var x) const { return matmul(x, weight); }
  constexpr Loss loss(Var x, Var c) const { return Loss(sum(predict(x) * c, {-1})); }
};

/// Expects got[i] to be the sum of its `terms` terms f(i, l), within the bound for operands of this precision.
template <class F>
void expect_sums_within_bound(std::span<const float> got, std::int64_t terms, Precision precision, F f) {
  const double r = operand_rounding(precision), bound = 2 * r + r * r + static_cast<double>(terms) * 0x1p-22;
  for (std::int64_t i = 0; i < std::ssize(got); ++i) {
    double sum = 0, magnitudes = 0;
    for (std::int64_t l = 0; l < terms; ++l) {
      const double term = f(i, l);
      sum += term;
      magnitudes += std::abs(term);
    }
    EXPECT_LE(std::abs(got[static_cast<std::size_t>(i)] - sum), bound * magnitudes) << i;
  }
}

/// Expects c to be the product of a, m × k, and b, k × n, all by rows (a: k × m where `transpose_a`).
void expect_product(std::span<const float> a, bool transpose_a, std::span<const float> b, std::span<const float> c,
                    std::int64_t m, std::int64_t k, std::int64_t n, Precision precision) {
  expect_sums_within_bound(c, k, precision, [&](std::int64_t i, std::int64_t l) {
    const std::int64_t at = transpose_a ? l * m + i / n : i / n * k + l;
    return double{a[static_cast<std::size_t>(at)]} * b[static_cast<std::size_t>(l * n + i % n)];
  });
}

template <Precision Used>
void expect_products_within_bound() {
  using Net = Compiled<Product, Inputs<f32[Product::in], f32[Product::out]>, Library<Used>>;
  const auto x = numbers(window * Product::in), c = numbers(window * Product::out, 2);
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = window, .micro_batch = 41});  // 41, 41, 41, 27
  for (int i = 0; i < 2; ++i) {
    session.accumulate(std::span(x).first(120 * Product::in), std::span(c).first(120 * Product::out));
    session.accumulate(std::span(x).subspan(120 * Product::in), std::span(c).subspan(120 * Product::out));
    const auto gradient = session.accumulator();
    expect_product(x, true, c, std::span<const float>(gradient), Product::in, window, Product::out, Used);
  }
  EXPECT_EQ(session.step_count(), 2);

  const auto parameters = session.parameters();
  const std::vector<float> weight(parameters.values().begin(), parameters.values().end());
  std::vector<float> scores(window * Product::out);
  Inference<Net>(weight, 40)(x, scores);
  expect_product(x, false, weight, scores, window, Product::in, Product::out, Used);
}

/// A convolution with stride 2 and zero padding. Gradients are sums over the window's samples: those of the weights also
/// over positions, those of the shift, which is added to all images, also over the taps that meet a pixel.
template <std::int64_t Groups>
struct Convolved {
  static constexpr Convolution form{3, 7, {9, 3, 5, 2, 1, 1}, {7, 2, 4, 2, 1, 1}, false, Groups};
  Parameter weight, shift;
  constexpr explicit Convolved(Scope s)
      : weight(s.parameter("weight", Shape{Groups * 7, 3, 3, 2}, init::uniform(1))),
        shift(s.parameter("shift", Shape{Groups * 3, 9, 7}, init::constant(0))) {}
  constexpr Var predict(Var x) const {
    return conv2d(x + shift, weight.on(x), {.stride = 2, .padding = 1, .groups = Groups});
  }
  constexpr Loss loss(Var x, Var c) const { return Loss(sum(predict(x) * c, {1, 2, 3})); }
};

template <Precision Used, std::int64_t Groups>
void expect_convolutions_within_bound() {
  constexpr std::int64_t few = 12;  // the twin is slow
  using Net = Compiled<Convolved<Groups>, Inputs<f32[Groups * 3][9][7], f32[Groups * 7][5][4]>, Library<Used>>;
  static constexpr Convolution c = Convolved<Groups>::form;
  const auto x = numbers(few * Groups * c.image()), adjoint = numbers(few * Groups * c.result(), 2);
  const auto pixel = [&](std::int64_t group, std::int64_t position, std::int64_t tap) {  // group: counted over all images
    const std::int64_t at = c.pixel(position, tap);
    return at < 0 ? 0.0 : double{x[static_cast<std::size_t>(group * c.image() + at)]};
  };
  Session session(Net{}, Accumulate{Sgd{.learning_rate = 0}}, {.global_batch = few, .micro_batch = 5});  // 5, 5, 2
  const auto parameters = session.parameters();
  const std::vector<float> values(parameters.values().begin(), parameters.values().end());
  const std::span weights = std::span(values).first(static_cast<std::size_t>(Groups * c.weights()));
  for (int i = 0; i < 2; ++i) {
    session.accumulate(x, adjoint);
    const auto gradient = session.accumulator();
    const std::span<const float> got(gradient);
    expect_sums_within_bound(got.first(weights.size()), few * c.positions(), Used, [&](auto weight, auto l) {
      const std::int64_t position = l % c.positions(), output = weight / c.taps();
      const std::int64_t group = l / c.positions() * Groups + output / c.outputs;
      return double{adjoint[static_cast<std::size_t>(group * c.result() + output % c.outputs * c.positions() + position)]} *
             pixel(group, position, weight % c.taps());
    });
    static constexpr Convolution back = gradual::detail::adjoint(c);
    expect_sums_within_bound(got.subspan(weights.size()), few * back.taps(), Used, [&](auto shift, auto l) {
      const std::int64_t image = l / back.taps(), tap = l % back.taps();
      const std::int64_t met = back.pixel(shift % back.positions(), tap), plane = shift / back.positions();
      const std::int64_t group = plane / back.outputs;
      return met < 0 ? 0.0
                     : double{weights[static_cast<std::size_t>(group * c.weights() + back.weight(plane % back.outputs, tap))]} *
                           adjoint[static_cast<std::size_t>((image * Groups + group) * back.image() + met)];
    });
  }
  EXPECT_EQ(session.step_count(), 2);

  std::vector<float> outputs(static_cast<std::size_t>(few * Groups * c.result()));
  Inference<Net>(values, 5)(x, outputs);
  expect_sums_within_bound(outputs, c.taps(), Used, [&](auto output, auto tap) {
    const std::int64_t plane = output / c.positions(), group = plane / c.outputs;
    return double{weights[static_cast<std::size_t>(group % Groups * c.weights() + plane % c.outputs * c.taps() + tap)]} *
           pixel(group, output % c.positions(), tap);
  });
}

/// ‖a − b‖ / ‖b‖.
double distance(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double apart = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    all += double{b[i]} * b[i];
  }
  return std::sqrt(apart / all);
}

/// Trains two windows on both, on the device in micro-batches of `split`, and compares losses and summed gradients.
template <class Net, class... Span>
void expect_close(std::int64_t samples, std::int64_t split, double most, Span... data) {
  constexpr auto optimizer = Accumulate{Sgd{.learning_rate = 0.1f}};
  Session cpu(Net{}, optimizer, {.global_batch = samples, .seed = 3});
  Session fast(OnGpu<Net>{}, optimizer, {.global_batch = samples, .micro_batch = split, .seed = 3});
  for (int i = 0; i < 2; ++i) {
    cpu.accumulate(data...);
    fast.accumulate(data...);
    EXPECT_NEAR(fast.last_window().loss() / cpu.last_window().loss(), 1, most);
    const auto got = fast.accumulator();
    EXPECT_LE(distance(std::span<const float>(got), cpu.accumulator()), most);
  }
  EXPECT_EQ(fast.step_count(), 2);
  EXPECT_EQ(fast.allocated_bytes(), fast.memory().total());
  EXPECT_GT(fast.memory().workspace, 0);
}

class FastCuda : public CudaTest {};

TEST_P(FastCuda, ProductsWithinTheBound) {
  expect_products_within_bound<Precision::float32>();
  expect_products_within_bound<Precision::tf32>();
  expect_products_within_bound<Precision::bfloat16>();
}

TEST_P(FastCuda, Classifier) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  expect_close<ClassifierNet>(window, window, 1e-5, std::span(x), std::span(y));
  expect_close<ClassifierNet>(window, 41, 1e-5, std::span(x), std::span(y));
}

/// Each micro-batch is summed alone, as by the library, whose sums keep no unfinished blocks.
TEST_P(FastCuda, SmallNetsInOneLaunch) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  Session cpu(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = window, .seed = 3});
  Session small(On<ClassifierNet, CudaWith<Numerics::fast>>{}, Accumulate{Sgd{}},
                {.global_batch = window, .micro_batch = 41, .seed = 3});
  for (int i = 0; i < 2; ++i) {
    cpu.accumulate(x, y);
    small.accumulate(x, y);
    const auto got = small.accumulator();
    EXPECT_LE(distance(std::span<const float>(got), cpu.accumulator()), 1e-6);
  }
}

/// One layer for both halves of a sample; its gradient is one sum over both uses.
struct Siamese {
  nn::Linear branch;
  constexpr explicit Siamese(Scope s) : branch(s / "branch", 64, 96) {}
  constexpr Var predict(Var x) const { return tanh(branch(slice(x, -1, 0, 64))) - branch(slice(x, -1, 64, 64)); }
  constexpr Loss loss(Var x, Var y) const { return mse(predict(x), y); }
};

TEST_P(FastCuda, SumsOfSeveralUsesStayInOrder) {
  using Net = Compiled<Siamese, Inputs<f32[128], f32[96]>>;
  static_assert(std::ranges::any_of(Net::Training::graph.nodes, [](const Node& node) { return is<Uses>(node); }));
  const auto x = numbers(window * 128), y = numbers(window * 96, 2);
  expect_close<Net>(window, 41, 1e-5, std::span(x), std::span(y));
}

/// A bias at an address aligned as the library requires, and a relu.
struct Aligned {
  nn::Linear hidden, output;
  constexpr explicit Aligned(Scope s) : hidden(s / "hidden", 12, 20), output(s / "output", 20, 5) {}
  constexpr Var predict(Var x) const { return relu(output(relu(hidden(x)))); }
  constexpr Loss loss(Var x, Var y) const { return mse(predict(x), y); }
};

TEST_P(FastCuda, BiasAndReluByTheProduct) {
  using Net = Compiled<Aligned, Inputs<f32[12], f32[5]>>;
  const auto x = numbers(window * 12), y = numbers(window * 5, 2);
  expect_close<Net>(window, 41, 1e-5, std::span(x), std::span(y));
  const Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = 8, .seed = 3});
  std::vector<float> values(session.parameters().values().begin(), session.parameters().values().end());
  for (std::size_t i = 12 * 20; i < 12 * 20 + 20; ++i)
    values[i] = 0.25f * static_cast<float>(i % 3);  // the hidden bias
  std::vector<float> expected(window * 5), got(window * 5);
  Inference<Net>(values, 40)(x, expected);
  Inference<OnGpu<Net>>(values, 40)(x, got);
  EXPECT_LE(distance(got, expected), 1e-5);
}

/// Returns the epilogue that the loop after the n-th product amounts to.
template <class Net>
constexpr cuda::Epilogue epilogue_of_product(int n) {
  using P = typename OnGpu<Net>::Training;
  for (int i = 0; i < P::nodes; ++i)
    if (P::graph.nodes[i].op->kind == Kind::contract && n-- == 0) return cuda::loop_behind<P>(i).epilogue;
  return cuda::Epilogue::none;
}
static_assert(epilogue_of_product<ClassifierNet>(0) == cuda::Epilogue::bias_relu);
static_assert(epilogue_of_product<ClassifierNet>(1) == cuda::Epilogue::none, "the loop takes the row's maximum, too");
static_assert(epilogue_of_product<ClassifierNet>(2) == cuda::Epilogue::none, "of backward");
static_assert(epilogue_of_product<DroppedNet>(0) == cuda::Epilogue::none, "the loop draws masks");
static_assert(epilogue_of_product<WeightedNet>(0) == cuda::Epilogue::none, "a tanh");

/// Trains a window of large numbers, which leaves infinities and NaNs in both operands of sums over samples, then a shorter
/// one.
template <class Net>
void expect_overflow_left_behind(std::int64_t samples, std::int64_t unit) {
  const SessionOptions options{.global_batch = samples, .seed = 3};
  const auto x = numbers(static_cast<std::size_t>(samples * unit));
  const auto y = labels(static_cast<std::size_t>(samples), 5);
  std::vector<float> large = x;
  for (float& v : large) v = std::copysign(3e38f, v);
  Session cpu(Net{}, Accumulate{Sgd{}}, options);
  Session fast(OnGpu<Net>{}, Accumulate{Sgd{}}, options);
  const auto train = [&](auto& session) {
    session.accumulate(large, y);
    EXPECT_EQ(session.dropped_windows(), 1);
    const auto some = static_cast<std::size_t>(samples / 2);
    session.accumulate(std::span(x).first(some * static_cast<std::size_t>(unit)), std::span(y).first(some));
    session.close_blocks();
  };
  train(cpu);
  train(fast);
  const auto got = fast.accumulator();
  EXPECT_LE(distance(std::span<const float>(got), cpu.accumulator()), 1e-5);
}

TEST_P(FastCuda, WhatAnOverflowLeftIsNotSummed) {
  expect_overflow_left_behind<ClassifierNet>(41, 9);
  expect_overflow_left_behind<ConvolutionalNet>(5, 2 * 16 * 12);  // the twin is slow
}

TEST_P(FastCuda, TokensWithAttention) {
  constexpr std::int64_t some = 30;  // the twin is slow
  const auto x = labels(some * 7, 11);
  expect_close<TokensNet>(some, 11, 1e-5, std::span(x), std::span(x));
}

TEST_P(FastCuda, ProductsOfSixteenBits) {
  const auto x = numbers_in<bf16>(window * 9);
  const auto y = labels(window, 5);
  expect_close<Compiled<Classifier, Inputs<bf16[9], i32>>>(window, 41, 1e-3, std::span(x), std::span(y));
}

TEST_P(FastCuda, ConvolutionsWithinTheBound) {
  expect_convolutions_within_bound<Precision::float32, 1>();
  expect_convolutions_within_bound<Precision::tf32, 1>();
  expect_convolutions_within_bound<Precision::bfloat16, 1>();
  expect_convolutions_within_bound<Precision::float32, 2>();
  expect_convolutions_within_bound<Precision::tf32, 2>();
}

TEST_P(FastCuda, Convolutions) {
  constexpr std::int64_t few = 5;  // the twin is slow
  const auto x = numbers(few * 2 * 16 * 12);
  const auto y = labels(few, 5);
  expect_close<ConvolutionalNet>(few, 2, 1e-5, std::span(x), std::span(y));
}

TEST_P(FastCuda, ConvolutionsOverTime) {
  constexpr std::int64_t few = 7;
  const auto x = numbers(few * 2 * 13);
  const auto y = labels(few, 5);
  expect_close<Compiled<Temporal, Inputs<f32[2][13], i32>>>(few, 3, 1e-5, std::span(x), std::span(y));
}

TEST_P(FastCuda, ConvolutionsThatDifferByAxis) {
  constexpr std::int64_t few = 7;
  const auto x = numbers(few * 2 * 6 * 21);
  const auto y = labels(few, 5);
  expect_close<Compiled<Rectangular, Inputs<f32[2][6][21], i32>>>(few, 3, 1e-5, std::span(x), std::span(y));
}

/// Returns how many nodes of a training program the convolution library computes.
template <class Net>
constexpr int convolutions_by_library() {
  using P = typename OnGpu<Net>::Training;
  int count = 0;
  for (const Node& node : P::graph.nodes) count += cuda::is_library_convolution<typename P::Shadow>(P::graph.nodes, node);
  return count;
}
static_assert(convolutions_by_library<ConvolutionalNet>() == 5, "two, their weights' adjoints, and one of images");
static_assert(convolutions_by_library<Compiled<Convolutional, Inputs<bf16[2][16][12], i32>>>() == 3, "no weights' adjoints");

static_assert(convolutions_by_library<Compiled<Separable, Inputs<f32[2][9][8], i32>>>() == 5, "no weights' adjoints");
static_assert(convolutions_by_library<Compiled<Decoder, Inputs<f32[7], i32>>>() == 8, "three, their images, and two weights");

/// The workspace of the larger convolution: from 2 to 17 planes of 16 × 12 pixels, with weights of 3 × 3.
constexpr std::int64_t convolution_bytes(std::int64_t samples, Precision precision) {
  return cuda::convolution_workspace<OnGpu<ConvolutionalNet>::Training>(samples, precision);
}
static_assert(convolution_bytes(1000, Precision::float32) == (cuda::has_convolution_library ? 1_MiB : 0));
static_assert(convolution_bytes(10, Precision::tf32) ==
              aligned(cuda::has_convolution_library ? (1 << 20) + 4 * (10 * (2 + 17) * 16 * 12 + 17 * 2 * 9) : 0));
static_assert(convolution_bytes(std::int64_t{1} << 60, Precision::tf32) == (cuda::has_convolution_library ? 256_MiB : 0));

#if defined(GRADUAL_CUDA_TWIN)
TEST_P(FastCuda, WhatConvolutionsTheLibraryLacksAreComputedInOrder) {
  constexpr std::int64_t few = 5;
  const auto x = numbers(few * 2 * 16 * 12);
  const auto y = labels(few, 5);
  Session session(OnGpu<ConvolutionalNet>{}, Accumulate{Sgd{}}, {.global_batch = few, .seed = 3});
  const auto parameters = session.parameters();
  const std::vector<float> values(parameters.values().begin(), parameters.values().end());
  std::vector<float> got(few * 5), expected(few * 5);
  cuda::twin_has_engines = false;
  Inference<OnGpu<ConvolutionalNet>>(values, few)(x, got);
  EXPECT_THROW(session.accumulate(x, y), DeviceError);  // weights' gradients have no unfinished blocks
  cuda::twin_has_engines = true;
  Inference<ConvolutionalNet>(values, few)(x, expected);
  EXPECT_LE(distance(got, expected), 1e-6);
}
#endif

#if defined(GRADUAL_CUDA_TWIN)
TEST_P(FastCuda, StacksThatTheLibraryLacksAreComputedInOrder) {
  constexpr std::int64_t some = 20;
  const auto x = labels(some * 7, 11);
  cuda::twin_most_products = 3;
  expect_close<TokensNet>(some, 11, 1e-5, std::span(x), std::span(x));
  cuda::twin_most_products = 0;
  const auto y = labels(some, 5);
  Session session(OnGpu<ClassifierNet>{}, Accumulate{Sgd{}}, {.global_batch = some});
  EXPECT_THROW(session.accumulate(numbers(some * 9), y), DeviceError);
  cuda::twin_most_products = 65535;
}
#endif

TEST_P(FastCuda, StatesGoOnWhereSumsAreTheSame) {
  using Net = OnGpu<ClassifierNet>;
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  const SessionOptions options{.global_batch = window, .micro_batch = 41, .seed = 3};
  Session first(Net{}, Accumulate{Sgd{}}, options), second(Net{}, Accumulate{Sgd{}}, options);
  Session cpu(ClassifierNet{}, Accumulate{Sgd{}}, options);
  first.accumulate(std::span(x).first(60 * 9), std::span(y).first(60));
  cpu.accumulate(std::span(x).first(60 * 9), std::span(y).first(60));
  EXPECT_THROW(cpu.restore(first.state()), FileError);  // sums without blocks
  EXPECT_THROW(second.restore(cpu.state()), FileError);
  second.restore(first.state());
  for (auto* session : {&first, &second}) session->accumulate(std::span(x).subspan(60 * 9), std::span(y).subspan(60));
  EXPECT_EQ(second.step_count(), 1);
  EXPECT_EQ(differing_bits(first.parameter_bytes(), second.parameter_bytes()), 0);
  cpu.restore(first.state());  // between windows
  EXPECT_EQ(differing_bits(first.parameter_bytes(), cpu.parameter_bytes()), 0);
}

TEST_P(FastCuda, KeepsNoUnfinishedBlocksOfProducts) {
  constexpr Planning always{.open_blocks = OpenBlocks::always};
  constexpr auto fast = OnGpu<ClassifierNet>::training_memory(Accumulate{Sgd{}}, 41, always);
  constexpr auto exact = ClassifierNet::training_memory(Accumulate{Sgd{}}, 41, always);
  EXPECT_EQ(exact.open_blocks - fast.open_blocks, aligned(9 * 17 * 4) + aligned(17 * 5 * 4));
}

INSTANTIATE_TEST_SUITE_P(Turns, FastCuda, turns, name_of_turns);

}  // namespace fast_test
