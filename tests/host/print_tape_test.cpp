// A tape as text: every kind of node, and the roots.
#include <gtest/gtest.h>

#include <sstream>

#include <gradual/autodiff/graphviz.hpp>
#include <gradual/autodiff/print.hpp>
#include <gradual/autodiff/trace.hpp>

namespace print_tape_test {

using namespace gradual;

std::string text(const Tape& tape) {
  std::ostringstream out;
  out << tape;
  return out.str();
}

/// One operand per statement: compilers order the operands of an expression differently.
struct Model {
  Parameter weight;
  constexpr explicit Model(Scope s) : weight((s / "layer").parameter("weight", Shape{3, 2}, {})) {}
  constexpr Loss loss(Var x) const {
    const Var w = weight.on(x);
    const Var y = matmul(x, w);
    return {sum(y, {1, 2}), metric("most", max(flatten(y), {1}))};
  }
};

TEST(PrintTape, ShowsNodesAndRoots) {
  EXPECT_EQ(text(trace_training<Model>(Inputs<f32[2][3]>{})),
            "%0 = input 0 : float[batch, 2, 3]\n"
            "%1 = input 'layer/weight' : float[3, 2]\n"
            "%2 = reshape %0 : float[batch*2, 3]\n"
            "%3 = matmul %2, %1 : float[batch*2, 2]\n"
            "%4 = reshape %3 : float[batch, 2, 2]\n"
            "%5 = sum %4 of the last 2 axes : float[batch]\n"
            "%6 = reshape %4 : float[batch, 4]\n"
            "%7 = max %6 of the last 1 axis : float[batch]\n"
            "%8 = constant 1 : float[batch]\n"
            "%9 = reshape %8 : float[batch, 1, 1]\n"
            "%10 = broadcast %9 : float[batch, 2, 2]\n"
            "%11 = reshape %10 : float[batch*2, 2]\n"
            "%12 = batch_matmul %2, %11 : float[3, 2]\n"
            "%13 = matmul %11, %1 (right transposed) : float[batch*2, 3]\n"
            "loss = %5\n"
            "metric 0 = %7\n"
            "gradient 'layer/weight' = %12\n");
}

TEST(PrintTape, NamesOfGraphsHoldQuotes) {
  Tape tape;
  parameter(tape, Scope(tape.parameters).parameter("we\"ird\\", Shape{2}, {}).index);
  EXPECT_NE(graphviz(tape).find("[label=\"we\\\"ird\\\\\\n[2]\" shape=box]"), std::string::npos) << graphviz(tape);
}

TEST(PrintTape, CompoundAssignmentsAreTheirOps) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({2}), DType::f32);
  Var y = x;
  y += 1.0, y *= x, y -= x, y /= 2.0;
  Tape plain;
  const Var z = input(plain, Shape::per_sample({2}), DType::f32);
  const Var sum = z + 1.0, product = sum * z, difference = product - z;
  difference / 2.0;
  EXPECT_EQ(text(tape), text(plain));
}

TEST(PrintTape, AParameterBesideAValueIsItsValueThere) {
  Tape tape;
  const Parameter p = Scope(tape.parameters).parameter("p", Shape{2, 2}, {});
  const Var index = input(tape, Shape::per_sample({}), DType::i32), x = gather(p, index);
  Var y = matmul(x, p, false, true);
  y = reshape(y, Shape::per_sample({1, 2}));
  y += p, y = p + y, y = y - p, y = p - y, y = y * p, y = p * y, y = y / p, y = p / y;
  Tape by_hand;
  const Parameter q = Scope(by_hand.parameters).parameter("p", Shape{2, 2}, {});
  const Var place = input(by_hand, Shape::per_sample({}), DType::i32), w = q.on(place), rows = gather(w, place);
  Var z = matmul(rows, w, false, true);
  z = reshape(z, Shape::per_sample({1, 2}));
  z = z + w, z = w + z, z = z - w, z = w - z, z = z * w, z = w * z, z = z / w, z = w / z;
  EXPECT_EQ(text(tape), text(by_hand));
  const Var narrow = convert(y, DType::bf16);
  EXPECT_EQ((narrow * p).dtype(), DType::bf16);
}

TEST(PrintTape, ShowsWhatOpsKnow) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({2, 3}), DType::f64);
  transpose(x, {0, 2, 1});
  iota(x, 1);
  reduce_to(x, Shape{3});
  dropout(x, 0.25);
  value_of(0.5, x);
  slice(x, -1, 1, 2);
  pad(x, 1, 3, 0, -0.0);
  EXPECT_EQ(text(tape), "%0 = input 0 : double[batch, 2, 3]\n"
                        "%1 = transpose %0 to (0, 2, 1) : double[batch, 3, 2]\n"
                        "%2 = iota along axis 1 : int32[batch, 2, 3]\n"
                        "%3 = batch_sum %0 of the first 2 axes : double[3]\n"
                        "%4 = dropout_mask 1358 at rate 0.25 : double[batch, 2, 3]\n"
                        "%5 = multiply %0, %4 : double[batch, 2, 3]\n"
                        "%6 = input scalar 0 : double[]\n"
                        "%7 = slice %0 along axis 2 from 1 : double[batch, 2, 2]\n"
                        "%8 = pad %0 along axis 1 with -0, 3 before : double[batch, 5, 3]\n");
}

TEST(PrintTape, AShapeAloneIsPrintedToo) {
  std::ostringstream out;
  out << Shape::per_sample({3, 4}) << Shape{};
  EXPECT_EQ(out.str(), "[batch, 3, 4][]");
}

}  // namespace print_tape_test
