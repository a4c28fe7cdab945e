// The cost of each op with a derivative in a fused loop, relative to an addition in its place, alone and behind a bound: a
// number that stands out means that a loop is no longer vectorised. One thread, medians.
#include <cstdio>

#include <gradual/check/test_op.hpp>

#include "nets.hpp"

using namespace nets;

namespace {

constexpr std::int64_t batch = 16, width = 1024;

/// The sum of one op over a sample's numbers. The first operand, which may be bounded, and the third are shifted by a
/// parameter.
template <class Op, bool Bounded>
struct SumOf {
  Parameter shift;
  constexpr explicit SumOf(Scope s) : shift(s.parameter("shift", Shape{width}, init::zeros())) {}
  constexpr Loss loss(Var x) const {
    const Var shifted = x + shift, b = 0.5 * x;
    const Var a = Bounded ? maximum(shifted, (Op::domain.low + Op::domain.high) / 2) : shifted;
    if constexpr (Op::arity == 1) return {sum(elementwise<Op>(a), {1})};
    else if constexpr (Op::arity == 2) return {sum(elementwise<Op>(a, b), {1})};
    else return {sum(elementwise<Op>(a, b, shifted), {1})};
  }
};

struct Seconds {
  double forward, step;
};

template <class Op, bool Bounded = false>
Seconds measure() {
  std::vector<float> x = numbers(batch * width, 1);
  for (float& number : x) number = static_cast<float>(Op::domain.low + number * (Op::domain.high - Op::domain.low));
  Session session(Compiled<SumOf<Op, Bounded>, Inputs<f32[width]>>{}, Accumulate{Sgd{.learning_rate = 0.0f}},
                  {.global_batch = batch});
  std::vector<double> forward, step;
  for (int round = 0; round < 200; ++round) {
    forward.push_back(seconds([&] { session.evaluate(x); }));
    step.push_back(seconds([&] { session.accumulate(x); }));
  }
  return {median(forward), median(step)};
}

template <class Op>
void row(const Seconds& addition) {
  if constexpr (gradual::detail::Differentiable<Op> && requires { Op::domain; }) {
    const Seconds time = measure<Op>();
    std::printf("%-15s %14.3f %8.1f %14.3f %8.1f %16.1f\n", Op::name, 1e9 * time.forward / (batch * width),
                time.forward / addition.forward, 1e9 * time.step / (batch * width), time.step / addition.step,
                measure<Op, true>().step / addition.step);
  }
}
template <class... Op>
void table(OpList<Op...>) {
  std::printf("%-15s %14s %8s %14s %8s %16s\n", "op", "forward ns", "of add", "step ns", "of add", "bounded, of add");
  const Seconds addition = measure<Add>();
  (row<Op>(addition), ...);
}

}  // namespace

int main() { table(MapOps{}); }
