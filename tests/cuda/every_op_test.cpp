// Every op that loops call, forward and backward, in fused kernels of the GPU or its host twin against the processor's.
#include <gradual/cuda.hpp>

#include "cuda_test.hpp"

using namespace models;

namespace {

constexpr int width = 37;  // a whole warp of lanes and a rest
constexpr std::int64_t samples = 130;

/// Ops First, First + 2, ... of all map ops. Each op's operands and its value are scaled by parameters of their own, so
/// that the gradients show the op's value and its derivatives, and a NaN of one op does not hide the others.
template <int First>
struct MapOpsModel {
  static constexpr int count = (MapOps::size - First + 1) / 2;
  Parameter scale[4 * count];
  constexpr explicit MapOpsModel(Scope s) {
    for (int i = 0; i < 4 * count; ++i) {
      const char name[] = {static_cast<char>('a' + i / 16), static_cast<char>('a' + i % 16)};
      scale[i] = s.parameter({name, 2}, Shape{width}, init::constant(1));
    }
  }
  constexpr Loss loss(Var a, Var b, Var c) const {
    Var total;
    add_ops(a, b, c, total, MapOps{});
    return Loss(sum(total, {-1}));
  }

 private:
  template <class... Op>
  constexpr void add_ops(Var a, Var b, Var c, Var& total, OpList<Op...>) const {
    int i = 0;
    ((i % 2 == First ? add_op<Op>(a, b, c, scale + i / 2 * 4, total) : void(), ++i), ...);
  }
  template <class Op>
  constexpr void add_op(Var a, Var b, Var c, const Parameter* by, Var& total) const {
    if constexpr (requires { requires Op::domain.low > 0; }) a = abs(a) + 0x1p-20, b = abs(b) + 0x1p-20;
    a = a * by[0].on(a);
    b = b * by[1].on(b);
    c = c * by[2].on(c);
    Var y;
    if constexpr (Op::arity == 1) y = elementwise<Op>(a);
    else if constexpr (Op::arity == 2) y = elementwise<Op>(a, b);
    else y = elementwise<Op>(a, b, c);
    y = y * by[3].on(y);
    total = total.valid() ? total + y : y;
  }
};

/// The reductions over a row, each scaled by a parameter.
struct RowOpsModel {
  Parameter operand, scale[5];
  constexpr explicit RowOpsModel(Scope s)
      : operand(s.parameter("operand", Shape{width}, init::constant(1))),
        scale{s.parameter("sum", Shape{1}, init::constant(1)), s.parameter("max", Shape{1}, init::constant(1)),
              s.parameter("min", Shape{1}, init::constant(1)), s.parameter("argmax", Shape{1}, init::constant(1)),
              s.parameter("prod", Shape{1}, init::constant(1))} {}
  constexpr Loss loss(Var a, Var b, Var) const {
    a = a * operand.on(a);
    const Var equal = where(argmax(a) == argmax(b), sum(a, {-1}), sum(b, {-1}));
    const Var rows[] = {sum(a * b, {-1}), max(a, {-1}), min(a, {-1}), equal, prod(1.0 + 0.5 * tanh(a), {-1})};
    Var total;
    for (int i = 0; i < 5; ++i) {
      const Var row = reshape(rows[i], Shape::per_sample(Shape{1})) * scale[i].on(a);
      total = total.valid() ? total + row : row;
    }
    return Loss(sum(total, {-1}));
  }
};

/// Numbers, ties, zeros, and what overflows or underflows in exponentials.
std::vector<std::vector<float>> operands() {
  std::vector<std::vector<float>> data;
  for (unsigned k = 0; k < 3; ++k) data.push_back(numbers(samples * width, k + 1));
  for (std::size_t i = 0; i < data[0].size(); ++i) {
    for (auto& v : data) v[i] *= 4;
    if (i % 11 == 3) data[1][i] = data[0][i];
    if (i % 13 == 5) data[i % 3][i] = i % 2 ? 0.0f : -0.0f;
    if (i % 17 == 7) data[i % 3][i] *= 50;
  }
  return data;
}

template <class Model, class Where>
std::vector<float> gradients(const std::vector<std::vector<float>>& data, std::int64_t split) {
  using Net = Compiled<Model, Inputs<f32[width], f32[width], f32[width]>, Where>;
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = samples, .micro_batch = split});
  session.accumulate(std::span(data[0]), std::span(data[1]), std::span(data[2]));
  const auto sums = session.accumulator();
  return {sums.begin(), sums.end()};
}

template <class Model>
void expect_equal_bits() {
  const auto data = operands();
  const auto expected = gradients<Model, Cpu>(data, samples), got = gradients<Model, Cuda>(data, 50);
  ASSERT_EQ(expected.size(), got.size());
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool both_nan = expected[i] != expected[i] && got[i] != got[i];
    numbers += !both_nan;
    EXPECT_TRUE(both_nan || std::bit_cast<std::uint32_t>(expected[i]) == std::bit_cast<std::uint32_t>(got[i]))
        << "parameter " << i / width << "[" << i % width << "]: " << expected[i] << " against " << got[i];
  }
  EXPECT_GT(numbers, expected.size() * 9 / 10);
}

class CudaOps : public CudaTest {};
TEST_P(CudaOps, EvenMapOps) { expect_equal_bits<MapOpsModel<0>>(); }
TEST_P(CudaOps, OddMapOps) { expect_equal_bits<MapOpsModel<1>>(); }
TEST_P(CudaOps, RowOps) { expect_equal_bits<RowOpsModel>(); }
INSTANTIATE_TEST_SUITE_P(Turns, CudaOps, turns, name_of_turns);

}  // namespace
