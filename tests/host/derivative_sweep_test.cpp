// Every derivative rule against 6-point differences in double, first and second order, driven by the op lists.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <set>
#include <string>

#include <gradual/autodiff/reference.hpp>
#include <gradual/autodiff/trace.hpp>

using namespace gradual;

namespace {

using Values = std::vector<double>;
using Function = std::function<Var(std::vector<Var>)>;

constexpr std::int64_t batch = 3;
constexpr Domain anywhere{.low = -3, .high = 3, .kink_at_zero = true, .kink_at_ties = true};

struct Random {
  std::uint64_t state = 12345;
  double operator()(double low, double high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
  }
};

/// An operand of the function under test: a value to differentiate by, or labels.
struct Operand {
  Shape shape;
  std::int64_t classes = 0;
  Operand(std::initializer_list<std::int64_t> extents) : shape(extents) {}
  Operand(const Shape& s, std::int64_t labels_of = 0) : shape(s), classes(labels_of) {}
};
using Operands = std::vector<Operand>;

/// A function of `targets` whose outputs are weighed by `cotangents` and then summed, and the gradient of that sum.
struct Recorded {
  Tape tape;
  std::vector<Var> targets, outputs, cotangents, gradient;
};

/// Appends the gradient of Σ outputs · cotangents, one uneven cotangent per output element.
void differentiate(Recorded& r) {
  r.cotangents.clear();
  Var total;
  for (Var output : r.outputs) {
    r.cotangents.push_back(input(r.tape, output.shape(), DType::f64));
    Var part = reduce_to(output * r.cotangents.back(), Shape{});
    total = total.valid() ? total + part : part;
  }
  std::vector<int> ids;
  for (Var t : r.targets) ids.push_back(t.id);
  const std::vector<Var> adjoint = backward(total, constant_like(total, 1), ids);
  r.gradient.clear();
  for (int id : ids) r.gradient.push_back(adjoint[static_cast<std::size_t>(id)]);
}

/// What a test has swept: how many derivatives, of which functions, with which ops in them.
struct Sweep {
  int checks = 0;
  std::set<std::string> functions, ops;

  void check(const std::string& name, const Function& f, const Operands& operands, Domain domain = anywhere);

 private:
  void compare(const std::string& name, const Recorded& r, std::vector<Values> at, double tolerance);
};

double draw(Random& random, Domain domain, const std::vector<Values>& others, const Values& own) {
  for (;;) {
    const double x = random(domain.low, domain.high);
    bool smooth = !domain.kink_at_zero || std::abs(x) > 0.3;
    const auto apart = [&](double other) { return !domain.kink_at_ties || std::abs(x - other) > 0.01; };
    for (const Values& other : others)
      for (double y : other) smooth = smooth && apart(y);
    for (double y : own) smooth = smooth && apart(y);
    if (smooth) return x;
  }
}

void Sweep::check(const std::string& name, const Function& f, const Operands& operands, Domain domain) {
  Recorded r;
  std::vector<Var> in;
  for (const Operand& o : operands) {
    in.push_back(input(r.tape, o.shape, o.classes > 0 ? DType::i32 : DType::f64));
    if (o.classes == 0) r.targets.push_back(in.back());
  }
  r.outputs = {f(in)};
  for (const Node& node : r.tape.nodes) ops.insert(node.op->name);
  functions.insert(name);

  Random random;
  std::vector<Values> at;
  for (const Operand& o : operands) {
    at.emplace_back();
    for (std::int64_t i = 0; i < o.shape.elements(batch); ++i)
      at.back().push_back(o.classes > 0 ? std::floor(random(0, static_cast<double>(o.classes))) : draw(random, domain, at, at.back()));
  }
  const auto draw_cotangents = [&] {
    for (Var c : r.cotangents) {
      at.emplace_back(static_cast<std::size_t>(c.shape().elements(batch)));
      for (double& x : at.back()) x = random(0.5, 1.5);
    }
  };

  differentiate(r);
  draw_cotangents();
  compare(name + ", first order", r, at, 1e-10);
  r.outputs.clear();
  for (Var g : r.gradient)
    if (g.valid()) r.outputs.push_back(g);
  r.targets.push_back(r.cotangents[0]);
  differentiate(r);
  draw_cotangents();
  compare(name + ", second order", r, at, 1e-8);
}

void Sweep::compare(const std::string& name, const Recorded& r, std::vector<Values> at, double tolerance) {
  const Reference<double> here(r.tape, batch, at, {});
  for (std::size_t k = 0; k < r.targets.size(); ++k) {
    Values& moved = at[static_cast<std::size_t>(r.targets[k].attributes().integer[0])];
    for (std::size_t i = 0; i < moved.size(); ++i) {
      // Each output by itself, so that those that do not move add no rounding.
      constexpr double step = 1e-3, weight[] = {45 / (60 * step), -9 / (60 * step), 1 / (60 * step)};
      const double center = moved[i];
      double difference = 0;
      for (int d = 1; d <= 3; ++d) {
        moved[i] = center + d * step;
        const Reference<double> above(r.tape, batch, at, {});
        moved[i] = center - d * step;
        const Reference<double> below(r.tape, batch, at, {});
        for (std::size_t o = 0; o < r.outputs.size(); ++o) {
          const Values &up = above[r.outputs[o].id], &down = below[r.outputs[o].id], &w = here[r.cotangents[o].id];
          for (std::size_t j = 0; j < w.size(); ++j) difference += weight[d - 1] * (w[j] * (up[j] - down[j]));
        }
      }
      moved[i] = center;
      const double derivative = r.gradient[k].valid() ? here[r.gradient[k].id][i] : 0.0;
      EXPECT_NEAR(derivative, difference, tolerance * std::max(1.0, std::abs(difference)))
          << name << ", operand " << k << ", element " << i;
      ++checks;
    }
  }
}

template <class Op>
constexpr bool differentiable = requires { &Op::vjp; };

template <class Op>
void sweep_map_op(Sweep& sweep) {
  if constexpr (differentiable<Op>) {
    const Function apply = [](std::vector<Var> in) {
      if constexpr (Op::arity == 1) return elementwise<Op>(in[0]);
      else if constexpr (Op::arity == 2) return elementwise<Op>(in[0], in[1]);
      else return elementwise<Op>(in[0], in[1], in[2]);
    };
    sweep.check(Op::name, apply, Operands(Op::arity, Operand{7}), Op::domain);
    const Shape samples = Shape::per_sample({2});
    if constexpr (Op::arity == 2) {
      sweep.check(Op::name, apply, {{3, 1}, {1, 4}}, Op::domain);
      sweep.check(Op::name, apply, {Shape{}, {2, 3}}, Op::domain);
      sweep.check(Op::name, apply, {samples, {2}}, Op::domain);
    } else if constexpr (Op::arity == 3) {
      sweep.check(Op::name, apply, {{2, 1}, {3}, Shape{}}, Op::domain);
      sweep.check(Op::name, apply, {{2}, samples, {1}}, Op::domain);
    }
    EXPECT_TRUE(sweep.functions.contains(Op::name));
  }
}

template <class... Op>
void sweep_map_ops(Sweep& sweep, OpList<Op...>) {
  (sweep_map_op<Op>(sweep), ...);
  EXPECT_EQ(static_cast<int>(sweep.functions.size()), (differentiable<Op> + ...));
}

TEST(DerivativeSweep, EveryMapOp) {
  Sweep sweep;
  sweep_map_ops(sweep, MapOps{});
  std::printf("%d derivatives of %zu map ops\n", sweep.checks, sweep.functions.size());
  EXPECT_GT(sweep.checks, 1500);
}

template <class... Op>
void expect_all_recorded(const std::set<std::string>& recorded, OpList<Op...>) {
  for (auto [name, wanted] : {std::pair(Op::name, differentiable<Op>)...}) {
    EXPECT_TRUE(!wanted || recorded.contains(name)) << name << " was not swept";
  }
}

TEST(DerivativeSweep, EveryStructuralOp) {
  Sweep sweep;
  sweep.check("sum", [](auto in) { return square(sum(in[0], {0, 2})); }, {{2, 3, 4}});
  sweep.check("sum per sample", [](auto in) { return square(sum(in[0], {-1}, true)); }, {Shape::per_sample({2, 5})});
  sweep.check("sum of all", [](auto in) { return square(sum(in[0], {0, 1})); }, {{2, 40}});
  sweep.check("mean", [](auto in) { return exp(mean(in[0], {1}, true)) * in[0]; }, {{3, 4}});
  sweep.check("max", [](auto in) { return square(max(in[0], {1})); }, {{3, 4}});
  sweep.check("max of an inner axis", [](auto in) { return square(max(in[0], {1}, true)); }, {Shape::per_sample({3, 2})});
  sweep.check("min", [](auto in) { return square(min(in[0], {0, 2})); }, {{2, 3, 2}});
  sweep.check("reshape", [](auto in) { return matmul(reshape(square(in[0]), Shape{6, 2}), in[1]); }, {{3, 4}, {2, 2}});
  sweep.check("flatten", [](auto in) { return matmul(flatten(in[0]), in[1]); }, {Shape::per_sample({2, 2}), {4, 2}});
  sweep.check("transpose", [](auto in) { return matmul(transpose(sigmoid(in[0]), {2, 0, 1}), in[1]); }, {{2, 3, 2}, {3, 2}});
  sweep.check("broadcast", [](auto in) { return square(broadcast(in[0], Shape{2, 3, 4})); }, {{3, 1}});
  for (int flags = 0; flags < 4; ++flags) {
    const bool ta = flags & 1, tb = flags & 2;
    const auto product = [=](std::vector<Var> in) { return square(matmul(in[0], in[1], ta, tb)); };
    const std::string name = std::string("matmul ") + (ta ? "transposed" : "plain") + (tb ? " transposed" : " plain");
    sweep.check(name, product, {ta ? Shape{4, 3} : Shape{3, 4}, tb ? Shape{2, 4} : Shape{4, 2}});
    sweep.check(name + " stacked", product, {ta ? Shape{2, 4, 3} : Shape{2, 3, 4}, tb ? Shape{2, 2, 4} : Shape{2, 4, 2}});
    sweep.check(name + " stacked per sample", product,
                {Shape::per_sample(ta ? Shape{4, 3} : Shape{3, 4}), Shape::per_sample(tb ? Shape{2, 4} : Shape{4, 2})});
  }
  sweep.check("rows times a matrix", [](auto in) { return square(matmul(in[0], in[1])); }, {{2, 3, 4}, {4, 2}});
  sweep.check("samples times weights", [](auto in) { return tanh(0.3 * matmul(in[0], in[1]) + in[2]); },
              {Shape::per_sample({4}), {4, 2}, {2}});
  sweep.check("positions times weights", [](auto in) { return square(matmul(in[0], in[1], false, true)); },
              {Shape::per_sample({2, 4}), {3, 4}});
  sweep.check("softmax", [](auto in) { return softmax(in[0]); }, {{3, 4}});
  sweep.check("log_softmax", [](auto in) { return log_softmax(in[0]); }, {{3, 4}});
  sweep.check("logsumexp", [](auto in) { return logsumexp(in[0]); }, {Shape::per_sample({4})});
  sweep.check("log_sigmoid", [](auto in) { return log_sigmoid(in[0]); }, {{5}});
  sweep.check("pow of a number", [](auto in) { return pow(in[0], 3); }, {{5}});
  expect_all_recorded(sweep.ops, RowOps{});
  expect_all_recorded(sweep.ops, OpList<Broadcast, Matmul, Reshape, Transpose>{});
  std::printf("%d derivatives of %zu structural functions\n", sweep.checks, sweep.functions.size());
  EXPECT_GT(sweep.checks, 900);
}

TEST(DerivativeSweep, EveryLoss) {
  Sweep sweep;
  const Operands pair(2, Shape::per_sample({2, 3}));
  sweep.check("mse", [](auto in) { return mse(in[0], in[1]); }, pair);
  sweep.check("mae", [](auto in) { return mae(in[0], in[1]); }, pair);
  sweep.check("huber", [](auto in) { return huber(in[0], in[1], 0.7); }, pair);
  sweep.check("bce_with_logits", [](auto in) { return bce_with_logits(in[0], in[1]); }, pair);
  sweep.check("mse of numbers", [](auto in) { return mse(in[0], in[1]); }, Operands(2, Shape::per_sample({})));
  const auto labelled = [](auto in) { return cross_entropy(in[0], in[1]); };
  sweep.check("cross_entropy", labelled, {Shape::per_sample({4}), {Shape::per_sample({}), 4}});
  sweep.check("cross_entropy per token", labelled, {Shape::per_sample({2, 4}), {Shape::per_sample({2}), 4}});
  std::printf("%d derivatives of %zu losses\n", sweep.checks, sweep.functions.size());
  EXPECT_GT(sweep.checks, 300);
}

}  // namespace
