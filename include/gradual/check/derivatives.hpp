#pragma once
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gradual/autodiff/trace.hpp>
#include <gradual/check/eager_bits.hpp>
#include <gradual/check/function.hpp>

namespace gradual::check {

/// An operand of the function under test: a value to differentiate by, or labels.
struct Operand {
  Shape shape;
  std::int64_t classes = 0;
  Operand(std::initializer_list<std::int64_t> extents) : shape(extents) {}
  Operand(const Shape& s, std::int64_t labels_of = 0) : shape(s), classes(labels_of) {}
};
using Operands = std::vector<Operand>;

inline constexpr Domain anywhere{.low = -3, .high = 3, .kink_at_zero = true, .kink_at_ties = true};

/// Compares derivatives by the tape with 6-point central differences in double: first order to a relative 1e-10, second
/// order to 1e-8; and, but for what `Convert` rounds, all values of both tapes when run eagerly with those of the reference,
/// bit for bit. Samples of a batch are 3; operands are drawn from `domain`.
class DerivativeCheck {
 public:
  int checks = 0;                     ///< derivatives compared
  int runs = 0;                       ///< functions in one mode, of operands of some shapes, in one order
  std::vector<std::string> mistakes;  ///< one line for each that differs
  std::set<std::string> functions, ops;  ///< names of what was checked, and of the ops differentiated on the way

  virtual ~DerivativeCheck() = default;

  void run(const std::string& name, const Function& f, const Operands& operands, Domain domain = anywhere) {
    Recorded r;
    std::vector<Var> in;
    for (const Operand& o : operands) {
      in.push_back(input(r.tape, o.shape, o.classes > 0 ? DType::i32 : DType::f64));
      if (o.classes == 0) r.targets.push_back(in.back());
    }
    r.outputs = {f(in)};
    functions.insert(name);

    Random random;
    std::vector<Values> at;
    for (const Operand& o : operands) {
      at.emplace_back();
      for (std::int64_t i = 0; i < o.shape.elements(batch); ++i)
        at.back().push_back(o.classes > 0 ? std::floor(random(0, static_cast<double>(o.classes)))
                                          : draw(random, domain, at, at.back()));
    }
    differentiate(r);
    for (const Node& node : r.tape.nodes) ops.insert(node.op->name);  // each is differentiated in second order at least
    draw_cotangents(random, r, at);
    compare(name + ", first order", r, at, 1e-10);
    r.outputs.clear();
    for (Var g : r.gradient)
      if (g.valid()) r.outputs.push_back(g);
    r.targets.push_back(r.cotangents[0]);
    differentiate(r);
    draw_cotangents(random, r, at);
    compare(name + ", second order", r, at, 1e-8);
  }

 protected:
  using Values = std::vector<double>;
  static constexpr std::int64_t batch = 3;

  /// A function of `targets` whose outputs are weighed by `cotangents` and then summed, and the gradient of that sum.
  struct Recorded {
    Tape tape;
    std::vector<Var> targets, outputs, cotangents, gradient;
  };

  /// Checks one order at these values of the tape's inputs; who checks something else than differences has its own.
  virtual void compare(const std::string& name, const Recorded& r, std::vector<Values> at, double tolerance) {
    compare_differences(name, r, std::move(at), tolerance);
  }

 private:
  struct Random {
    std::uint64_t state = 12345;
    double operator()(double low, double high) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
    }
  };

  /// Appends the gradient of Σ outputs · cotangents, one uneven cotangent per output element.
  static void differentiate(Recorded& r) {
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

  static double draw(Random& random, Domain domain, const std::vector<Values>& others, const Values& own) {
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
  static void draw_cotangents(Random& random, const Recorded& r, std::vector<Values>& at) {
    for (Var c : r.cotangents) {
      at.emplace_back(static_cast<std::size_t>(c.shape().elements(batch)));
      for (double& x : at.back()) x = random(0.5, 1.5);
    }
  }

  void compare_differences(const std::string& name, const Recorded& r, std::vector<Values> at, double tolerance) {
    const Reference<double> here(r.tape, batch, at, {});
    ++runs;
    // The reference computes all in double, so that differences see no rounding to float; what is converted has other bits.
    if (std::ranges::none_of(r.tape.nodes, [](const Node& node) { return is<Convert>(node); })) {
      ++runs;
      if (const std::string wrong = difference_when_eager(r.tape, batch, at, here, OpsFor<void>{}); !wrong.empty())
        mistakes.push_back(name + ", eager: other bits than the reference in " + wrong);
    }
    for (std::size_t k = 0; k < r.targets.size(); ++k) {
      if (r.gradient[k].valid() && !(r.gradient[k].shape() == r.targets[k].shape())) {
        mistakes.push_back(name + ", operand " + std::to_string(k) + ": the derivative has another shape");
        continue;
      }
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
        if (!(std::abs(derivative - difference) <= tolerance * std::max(1.0, std::abs(difference))))
          mistakes.push_back(name + ", operand " + std::to_string(k) + ", element " + std::to_string(i) + ": derivative " +
                             std::to_string(derivative) + ", difference " + std::to_string(difference));
        ++checks;
      }
    }
  }
};

}  // namespace gradual::check
