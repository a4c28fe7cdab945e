#pragma once
// Shared by tests of the CUDA backend. nvcc compiles them for a GPU, a C++ compiler for the host twin, whose threads take
// turns in both orders and whose streams work at once or late.
#include <gtest/gtest.h>

#include "../models.hpp"

namespace models {

/// √(w·x): for an input of 0 the loss is finite, but the gradient is not.
struct SquareRoot {
  Parameter weight;
  constexpr explicit SquareRoot(Scope s) : weight(s.parameter("weight", Shape{2}, init::constant(0.5))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(sqrt(x * weight), {-1})); }
};
/// Returns three windows of 8 samples for it. One sample has no finite gradient: in the second micro-batch of 3 of the
/// second window.
inline std::vector<float> samples_with_a_zero() {
  std::vector<float> x = numbers(24 * 2);
  for (float& v : x) v = v * v + 0.1f;
  x[21] = 0;
  return x;
}

/// Rows so long that each is given a block of threads: the scores, and all parameters in an update with clipping.
struct LongRows {
  nn::Embedding table;
  nn::Linear scores;
  constexpr explicit LongRows(Scope s) : table(s / "table", 7, 40), scores(s / "scores", 40, 2500) {}
  constexpr Loss loss(Var token, Var label) const {
    Var z = scores(table(token));
    return {cross_entropy(z, label), metric("accuracy", argmax(z) == label)};
  }
};
using LongRowsNet = Compiled<LongRows, Inputs<i32, i32>>;

/// The same net on another backend.
template <class Net, class Backend>
struct OnBackend;
template <class Model, class In, class From, class Backend>
struct OnBackend<Compiled<Model, In, From>, Backend> {
  using type = Compiled<Model, In, Backend>;
};
template <class Net, class Backend>
using On = typename OnBackend<Net, Backend>::type;

/// Never a single launch, in which neither a library nor a graph of launches would be tested.
using SeparateCuda = CudaWith<Numerics::reproducible, Precision::float32, Launches::separate>;
template <class Net>
using OnSeparateCuda = On<Net, SeparateCuda>;

/// Trains a model eagerly on the processor, to a compiled session's bits, so that nothing is compiled for its sizes.
template <class Net, class Optimizer>
struct Eager;
template <class Model, class... In, class Backend, class Optimizer>
struct Eager<Compiled<Model, Inputs<In...>, Backend>, Optimizer> {
  using Held = ParametersIn<typename Compiled<Model, Inputs<In...>, Backend>::Real>;
  Held parameters{Device::cpu()};
  Model net{parameters.root()};
  Session<Held, Optimizer, Inputs<>> session;
  Eager(const Optimizer& optimizer, const SessionOptions& options) : session(parameters, optimizer, options) {}

  int accumulate(std::int64_t samples, std::span<const std::remove_all_extents_t<In>>... data) {
    return session.accumulate(samples, loss_of(data...));
  }
  Averages evaluate(std::int64_t samples, std::span<const std::remove_all_extents_t<In>>... data) {
    return session.evaluate(samples, loss_of(data...));
  }

 private:
  auto loss_of(std::span<const std::remove_all_extents_t<In>>... data) {
    return [=, this](EagerTape& tape) { return net.loss(tape.input(data, gradual::detail::sample_shape<In>())...); };
  }
};

/// Expects equal bits of parameters and optimizer states, between windows.
template <class Net, class Optimizer>
void expect_equal_bits(const Session<Net, Optimizer>& cuda, const Eager<Net, Optimizer>& cpu) {
  const auto got = cuda.state().tensors, expected = cpu.session.state().tensors;
  EXPECT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected)
    EXPECT_EQ(differing_bits(std::as_bytes(std::span(got.at(name).values)), std::as_bytes(std::span(tensor.values))), 0)
        << name;
}

constexpr std::int64_t window = 150;  // a closed block of 128 and an open one

/// Trains a net on a GPU for two windows of `samples` samples, in micro-batches of `split`, and compares it with the
/// processor.
template <class Net, class Rule, class... Span>
void expect_equal_training(const Rule& rule, std::int64_t samples, std::int64_t split, const Span&... data) {
  const Accumulate optimizer{rule};
  Eager<Net, Accumulate<Rule>> cpu(optimizer, {.global_batch = window, .seed = 3});
  Session cuda(Net{}, optimizer, {.global_batch = window, .micro_batch = split, .seed = 3});
  for (int i = 0; i < 2; ++i) {
    cpu.accumulate(samples, data...);
    cuda.accumulate(data...);
    cpu.session.flush();
    cuda.flush();
    EXPECT_EQ(cpu.session.last_window().loss(), cuda.last_window().loss());
  }
  EXPECT_EQ(cuda.step_count(), 2);
  expect_equal_bits(cuda, cpu);
}

}  // namespace models

/// Plain gradient descent, written so that no kernel can run it.
struct Descent {
  int calls = 0;
  void step(std::span<const gradual::ParameterView> parameters, std::span<const gradual::GradientView> gradients) {
    ++calls;
    for (std::size_t p = 0; p < parameters.size(); ++p)
      for (std::size_t i = 0; i < parameters[p].values.size(); ++i)
        parameters[p].values[i] -= 0.125f * gradients[p].values[i];
  }
};

/// A copy of values in the device's memory.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values)
      : size_(values.size()), memory_(std::ssize(values) * std::int64_t{sizeof(T)}) {
    write(values);
  }
  void write(const std::vector<T>& values) const {
    const gradual::cuda::Stream stream;
    stream.write(memory_.data(), values.data(), memory_.size());
    stream.wait();
  }
  std::span<const T> span() const { return {reinterpret_cast<const T*>(memory_.data()), size_}; }

 private:
  std::size_t size_;
  gradual::cuda::Memory memory_;
};

/// Skips tests if there is no device. The parameter: whether the twin's threads run from last to first and its streams late.
class CudaTest : public testing::TestWithParam<bool> {
  void SetUp() override {
    if (!gradual::cuda::device_found()) GTEST_SKIP() << "skipped: no CUDA device";
#if defined(GRADUAL_CUDA_TWIN)
    gradual::cuda::twin_runs_backwards = gradual::cuda::twin_works_late = GetParam();
#endif
  }
};

#if defined(GRADUAL_CUDA_TWIN)
inline const auto turns = testing::Bool();
#else
inline const auto turns = testing::Values(false);
#endif
inline std::string name_of_turns(const testing::TestParamInfo<bool>& info) { return info.param ? "Backwards" : "Forwards"; }
