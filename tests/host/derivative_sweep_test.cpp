// Every derivative rule against 6-point differences in double: first and second order, driven by the op list.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include <gradual/autodiff/reference.hpp>
#include <gradual/autodiff/trace.hpp>

using namespace gradual;

namespace {

using Values = std::vector<double>;
using Function = std::function<Var(std::vector<Var>)>;

int checks = 0;

struct Random {
  std::uint64_t state = 12345;
  double operator()() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  }
};

/// Σ over elements of v·(uneven weights along the last axis), as a Var without axes.
Var weighted_sum(Var v) {
  if (v.shape().rank == 0) return v;
  Var weight = where(iota(v, v.shape().rank - 1) == 0.0, constant_like(v, 1.25), constant_like(v, 0.75));
  return reduce_to(v * weight, Shape{});
}

/// Records f at the given inputs, its weighted sum, the gradient of that, and, for order 2, the same once more.
struct Recorded {
  Tape tape;
  Var value;
  std::vector<Var> gradient;

  Recorded(const Function& f, const std::vector<Shape>& shapes, int order) {
    std::vector<Var> in;
    std::vector<int> targets;
    for (const Shape& s : shapes) {
      in.push_back(input(tape, s, DType::f64));
      targets.push_back(in.back().id);
    }
    value = weighted_sum(f(in));
    tape.first_adjoint = tape.size();
    for (int k = 1; k <= order; ++k) {
      const std::vector<Var> adjoint = backward(value, constant_like(value, 1), targets);
      gradient.clear();
      for (int t : targets) gradient.push_back(adjoint[static_cast<std::size_t>(t)]);
      if (k == order) return;
      Var next;
      for (Var g : gradient)
        if (g.valid()) next = next.valid() ? next + weighted_sum(g) : weighted_sum(g);
      if (!next.valid()) {
        gradient.assign(targets.size(), Var{});
        return;
      }
      value = next;
    }
  }
};

void check(const char* name, const Function& f, const std::vector<Shape>& shapes, const std::vector<Values>& at,
           int order, double tolerance) {
  const Recorded recorded(f, shapes, order);
  const Reference<double> here(recorded.tape, 1, at, {});
  for (std::size_t k = 0; k < at.size(); ++k) {
    for (std::size_t i = 0; i < at[k].size(); ++i) {
      const auto value = [&](int steps) {
        std::vector<Values> moved = at;
        moved[k][i] += steps * 1e-3;
        return Reference<double>(recorded.tape, 1, moved, {})[recorded.value.id][0];
      };
      const double difference =
          (45 * (value(1) - value(-1)) - 9 * (value(2) - value(-2)) + (value(3) - value(-3))) / 60e-3;
      const double derivative = recorded.gradient[k].valid() ? here[recorded.gradient[k].id][i] : 0.0;
      EXPECT_NEAR(derivative, difference, tolerance * std::max(1.0, std::abs(difference)))
          << name << ": order " << order << ", operand " << k << ", element " << i;
      ++checks;
    }
  }
}

void check_both_orders(const char* name, const Function& f, const std::vector<Shape>& shapes, bool positive = false) {
  Random random;
  for (int sign = 0; sign < (positive ? 1 : 2); ++sign) {
    std::vector<Values> at;
    double last = 0;
    for (const Shape& s : shapes) {
      Values v(static_cast<std::size_t>(s.elements(1)));
      for (double& x : v) {
        do x = 0.3 + 1.4 * random();
        while (std::abs(x - last) < 0.05 || std::abs(x - 1) < 0.05);
        last = x;
        if (sign == 1 && random() < 0.7) x = -x;
      }
      at.push_back(v);
    }
    check(name, f, shapes, at, 1, 1e-10);
    check(name, f, shapes, at, 2, 1e-8);
  }
}

template <class Op>
void sweep_one() {
  if constexpr (requires { &Op::vjp; } && !requires { Op::compares; }) {
    constexpr bool positive = requires { Op::positive; };
    const auto apply = [](std::vector<Var> in) {
      if constexpr (Op::arity == 1) return elementwise<Op>(in[0]);
      else if constexpr (Op::arity == 2) return elementwise<Op>(in[0], in[1]);
      else return elementwise<Op>(in[0], in[1], in[2]);
    };
    check_both_orders(Op::name, apply, std::vector<Shape>(Op::arity, Shape{5}), positive);
    if constexpr (Op::arity == 2) {
      check_both_orders(Op::name, apply, {Shape{3, 1}, Shape{1, 4}}, positive);
      check_both_orders(Op::name, apply, {Shape{}, Shape{2, 3}}, positive);
    }
  }
}
template <class... Op>
void sweep(OpList<Op...>) {
  (sweep_one<Op>(), ...);
}

TEST(DerivativeSweep, EveryMapOp) {
  checks = 0;
  sweep(MapOps{});
  std::printf("%d checks over %d map ops\n", checks, MapOps::size);
  EXPECT_GT(checks, 500);
}

TEST(DerivativeSweep, StructuralOps) {
  checks = 0;
  check_both_orders("sum", [](auto in) { return sum(in[0], {0, 2}) * sum(in[0], {0, 2}); }, {Shape{2, 3, 4}});
  check_both_orders("mean", [](auto in) { return exp(mean(in[0], {1}, true)) * in[0]; }, {Shape{3, 4}});
  check_both_orders("max", [](auto in) { return max(in[0], {1}) * max(in[0], {1}); }, {Shape{3, 4}});
  check_both_orders("reshape", [](auto in) { return reshape(in[0] * in[0], Shape{6, 2}); }, {Shape{3, 4}});
  check_both_orders("transpose", [](auto in) { return transpose(exp(in[0]), {2, 0, 1}) ; }, {Shape{2, 3, 2}});
  for (int flags = 0; flags < 4; ++flags) {
    const bool ta = flags & 1, tb = flags & 2;
    const Shape a = ta ? Shape{4, 3} : Shape{3, 4}, b = tb ? Shape{2, 4} : Shape{4, 2};
    check_both_orders("matmul", [=](auto in) { return tanh(matmul(in[0], in[1], ta, tb)); }, {a, b});
    const Shape as = ta ? Shape{2, 4, 3} : Shape{2, 3, 4}, bs = tb ? Shape{2, 2, 4} : Shape{2, 4, 2};
    check_both_orders("matmul of stacks", [=](auto in) { return tanh(matmul(in[0], in[1], ta, tb)); }, {as, bs});
  }
  check_both_orders("matmul of rows", [](auto in) { return tanh(matmul(in[0], in[1])); }, {Shape{2, 3, 4}, Shape{4, 2}});
  check_both_orders("samples meet", [](auto in) { return tanh(matmul(in[0], in[1]) + in[2]); },
                    {Shape::per_sample({4}), Shape{4, 2}, Shape{2}});
  check_both_orders("softmax", [](auto in) { return softmax(in[0]); }, {Shape{3, 4}});
  check_both_orders("log_softmax", [](auto in) { return log_softmax(in[0]); }, {Shape{3, 4}});
  check_both_orders("logsumexp", [](auto in) { return logsumexp(in[0]); }, {Shape{3, 4}});
  check_both_orders("gelu", [](auto in) { return gelu(in[0]); }, {Shape{5}});
  const std::vector<Shape> pair(2, Shape::per_sample({2, 3}));
  check_both_orders("mse", [](auto in) { return mse(in[0], in[1]); }, pair);
  check_both_orders("mae", [](auto in) { return mae(in[0], in[1]); }, pair);
  check_both_orders("huber", [](auto in) { return huber(in[0], in[1], 0.4); }, pair);
  check_both_orders("bce_with_logits", [](auto in) { return bce_with_logits(in[0], in[1]); }, pair);
  std::printf("%d checks of structural ops and losses\n", checks);
}

}  // namespace
