#pragma once
#include <cmath>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gradual/autodiff/trace.hpp>
#include <gradual/check/drawn_numbers.hpp>
#include <gradual/check/eager_bits.hpp>
#include <gradual/check/function.hpp>
#include <gradual/check/in_float.hpp>
#include <gradual/core/number_text.hpp>

namespace gradual::op_checks {

/// An operand of the function under test: a value to differentiate with respect to, or labels.
struct Operand {
  Shape shape;
  std::int64_t classes = 0;
  Operand(std::initializer_list<std::int64_t> extents) : shape(extents) {}
  Operand(const Shape& s, std::int64_t labels_of = 0) : shape(s), classes(labels_of) {}
};
using Operands = std::vector<Operand>;

inline constexpr Domain anywhere{.low = -3, .high = 3, .kink_at_zero = true, .kink_at_ties = true};

/// Compares derivatives by the tape with 6-point central differences in double, to 1e-10 (second order: 1e-9) of their size if
/// it is above 1: by each element of operands of up to 24, along two directions of larger ones. Compares values and gradients
/// in float with those in double at the same operands, to 16 units of 2⁻²³ of the largest in the array, or of 1.
/// Unless the function converts, also compares all values of both tapes run eagerly with those of the reference, in double and
/// in float, bit for bit.
/// First and second order; a batch has 3 samples; operands are drawn from `domain`.
class DerivativeCheck {
 public:
  int checks = 0;                     ///< derivatives compared
  int runs = 0;                       ///< functions in one mode, of operands of some shapes, in one order
  std::vector<std::string> mistakes;  ///< one line for each operand whose derivative differs, and each mode whose values do
  std::set<std::string> functions, ops;  ///< names of what was checked, and of the ops differentiated on the way

  virtual ~DerivativeCheck() = default;

  friend std::ostream& operator<<(std::ostream& out, const DerivativeCheck& check) {
    out << check.checks << " derivatives compared, " << check.mistakes.size() << " mistakes\n";
    for (const std::string& mistake : check.mistakes) out << mistake << '\n';
    return out;
  }

  /// `round`: selects other numbers; from 1 on a quarter of them are at special places of the domain.
  void run(const std::string& name, const Function& f, const Operands& operands, Domain domain = anywhere,
           std::uint64_t round = 0) {
    Recorded r;
    std::vector<Var> in;
    for (const Operand& o : operands) {
      in.push_back(input(r.tape, o.shape, o.classes > 0 ? DType::i32 : DType::f64));
      if (o.classes == 0) r.targets.push_back(in.back());
    }
    r.outputs = {f(in)};
    functions.insert(name);

    detail::DrawnNumbers random{detail::DrawnNumbers().state + round};
    std::vector<Values> at;
    for (const Operand& o : operands) {
      at.emplace_back();
      for (std::int64_t i = 0; i < o.shape.elements(batch); ++i)
        at.back().push_back(o.classes > 0 ? std::floor(random(0, static_cast<double>(o.classes)))
                                          : draw(random, domain, at, at.back(), round > 0));
    }
    differentiate(r);
    for (const Node& node : r.tape.nodes) ops.insert(node.op->name);  // each is differentiated in second order at least
    draw_cotangents(random, r, at);
    std::string of = name;
    for (const Operand& o : operands) of += (Message() << " " << o.shape).string();
    const std::size_t before = mistakes.size();
    compare(of + ", first order", r, at, 1e-10);
    if (mistakes.size() > before) return;  // the second order builds on it
    r.outputs.clear();
    for (Var g : r.gradient)
      if (g.valid()) r.outputs.push_back(g);
    r.targets.push_back(r.cotangents[0]);
    differentiate(r);
    draw_cotangents(random, r, at);
    compare(of + ", second order", r, at, 1e-9);
  }

  /// Compares the values of a map op's functor in float with those in double, in units in the last place.
  void values(const OpInfo& op, const Domain& domain) {
    detail::DrawnNumbers random;
    for (int i = 0; i < 10000; ++i) {
      float x[3];
      for (float& operand : x) operand = static_cast<float>(draw(random, domain, i % 4 == 0));
      const double exact = op.f64(x[0], x[1], x[2]), got = op.f32(x[0], x[1], x[2]);
      const double place = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);  // of ±0 and subnormals: the smallest
      if (got != exact && !(std::abs(got - exact) <= domain.ulp * place)) {
        mistakes.push_back(std::string(op.name) + " in float: " + detail::brief_text(std::abs(got - exact) / place) +
                           " units in the last place at " + detail::exact_text(x[0]));
        return;
      }
    }
    ++runs;
  }

 protected:
  using Values = std::vector<double>;
  static constexpr std::int64_t batch = 3;

  /// A function of `targets` whose outputs are weighted by `cotangents` and summed, and the gradient of that sum.
  struct Recorded {
    Tape tape;
    std::vector<Var> targets, outputs, cotangents, gradient;
  };

  /// Checks one order at these values of the tape's inputs; derived checks override it.
  virtual void compare(const std::string& name, const Recorded& r, std::vector<Values> at, double tolerance) {
    compare_modes(name, r, at);
    compare_differences(name, r, std::move(at), tolerance);
  }

 private:
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

  /// Draws a number from the domain; if `special`, one where formulas break or change, or as near an end as differences allow.
  static double draw(detail::DrawnNumbers& random, const Domain& domain, bool special) {
    constexpr double reach = 0.004, beside_zero = 0.301;
    const double places[] = {domain.low + reach, domain.high - reach, 0, 1, -1, beside_zero, -beside_zero};
    const double x = special ? places[static_cast<std::size_t>(random(0, std::size(places)))] : domain.low;
    return x > domain.low && x < domain.high && (x != 0 || !domain.kink_at_zero) ? x : random(domain.low, domain.high);
  }
  /// Draws a number at which there is a derivative. Errors: OptionError for a domain with hardly any such number.
  static double draw(detail::DrawnNumbers& random, const Domain& domain, const std::vector<Values>& others, const Values& own,
                     bool specials) {
    for (int i = 0; i < 10000; ++i) {
      const double x = draw(random, domain, specials && random(0, 4) < 1);
      bool smooth = !domain.kink_at_zero || std::abs(x) > 0.3;
      const auto apart = [&](double other) { return !domain.kink_at_ties || std::abs(x - other) > 0.01; };
      for (const Values& other : others)
        for (double y : other) smooth = smooth && apart(y);
      for (double y : own) smooth = smooth && apart(y);
      if (smooth) return x;
    }
    throw OptionError("test_op: the domain from " + detail::brief_text(domain.low) + " to " + detail::brief_text(domain.high) +
                      " is too narrow for differences, which need 0.3 from a kink at zero, and 0.01 between ties");
  }
  static void draw_cotangents(detail::DrawnNumbers& random, const Recorded& r, std::vector<Values>& at) {
    for (Var c : r.cotangents) {
      at.emplace_back(static_cast<std::size_t>(c.shape().elements(batch)));
      for (double& x : at.back()) x = random(0.5, 1.5);
    }
  }

  void note(const std::string& name, const char* what, const std::string& wrong) {
    if (!wrong.empty()) mistakes.push_back(name + what + wrong);
  }

  /// Compares eager values with the reference's, and float with double.
  void compare_modes(const std::string& name, const Recorded& r, const std::vector<Values>& at) {
    const auto [tape, narrow, wide] = in_float(r.tape, at);
    const Reference<double> exact(r.tape, batch, wide, {});
    const Reference<float> rounded(tape, batch, narrow, {});
    ++runs;
    for (const std::vector<Var>* nodes : {&r.outputs, &r.gradient})
      for (Var of : *nodes)
        if (of.valid()) note(name, ", in float: ", far_from_double(of, rounded[of.id], exact[of.id], 16));
    // The reference computes in double, so that differences see no rounding to float; converted values have other bits.
    if (std::ranges::any_of(r.tape.nodes, [](const Node& node) { return is<Convert>(node); })) return;
    runs += 2;
    constexpr const char* other = ", eager: bits differ from the reference in ";
    note(name, other, difference_when_eager(r.tape, batch, wide, exact));
    note(name + ", in float", other, difference_when_eager(tape, batch, narrow, rounded));
  }

  /// Returns the slope of Σ outputs · cotangents, by differences, as `moved`, an operand in `at`, moves along a direction.
  static double slope(const Recorded& r, const std::vector<Values>& at, const Reference<double>& here, Values& moved,
                      const Values& direction) {
    constexpr double step = 1e-3, weight[] = {45 / (60 * step), -9 / (60 * step), 1 / (60 * step)};
    const Values center = moved;
    const auto evaluate = [&](double by) {
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = center[i] + by * direction[i];
      return Reference<double>(r.tape, batch, at, {});
    };
    double result = 0;
    for (int d = 1; d <= 3; ++d) {
      const Reference<double> above = evaluate(d * step), below = evaluate(-d * step);
      for (std::size_t o = 0; o < r.outputs.size(); ++o) {  // each separately, so that constant outputs add no rounding
        const Values &up = above[r.outputs[o].id], &down = below[r.outputs[o].id], &w = here[r.cotangents[o].id];
        for (std::size_t j = 0; j < w.size(); ++j) result += weight[d - 1] * (w[j] * (up[j] - down[j]));
      }
    }
    moved = center;
    return result;
  }

  /// The wrong derivative by one operand that is furthest from its difference, or is NaN, and the number of wrong ones.
  struct Worst {
    int count = 0;
    std::size_t element = 0;
    double derivative = 0, difference = 0;
    void see(std::size_t i, double by_rule, double by_values) {
      if (count++ == 0 || !(std::abs(by_rule - by_values) <= std::abs(derivative - difference)))
        element = i, derivative = by_rule, difference = by_values;
    }
    std::string text(const std::string& where) const {
      return (where.empty() ? " along a direction" : where) + ": derivative " + detail::brief_text(derivative) +
             ", differences say " + detail::brief_text(difference) +
             (count > 1 ? "; wrong at " + std::to_string(count) + " places" : "");
    }
  };
  static std::size_t place_of(Var input) { return static_cast<std::size_t>(input.attributes().integer[0]); }
  /// Returns ", element 3, at (0.5, -1)": with that element of every operand if all have the same size.
  static std::string operands_at(const Recorded& r, const std::vector<Values>& at, std::size_t k, std::size_t i) {
    const std::size_t own = place_of(r.targets[k]), size = at[own].size();
    std::string numbers;
    for (const Var t : r.targets)
      if (at[place_of(t)].size() == size) numbers += (numbers.empty() ? "" : ", ") + detail::brief_text(at[place_of(t)][i]);
      else return ", element " + std::to_string(i) + ", at " + detail::brief_text(at[own][i]);
    return ", element " + std::to_string(i) + ", at (" + numbers + ")";
  }

  void compare_differences(const std::string& name, const Recorded& r, std::vector<Values> at, double tolerance) {
    const Reference<double> here(r.tape, batch, at, {});
    ++runs;
    detail::DrawnNumbers random;
    for (std::size_t k = 0; k < r.targets.size(); ++k) {
      if (r.gradient[k].valid() && !(r.gradient[k].shape() == r.targets[k].shape())) {
        mistakes.push_back(name + ", operand " + std::to_string(k) + ": the derivative has another shape");
        continue;
      }
      Values& moved = at[place_of(r.targets[k])];
      const bool large = moved.size() > 24;
      Worst worst;
      for (std::size_t i = 0; i < (large ? 2 : moved.size()); ++i) {
        Values direction(moved.size());
        if (large)
          for (double& x : direction) x = random.part();
        else direction[i] = 1;
        double derivative = 0, size = 0;
        for (std::size_t e = 0; e < moved.size() && r.gradient[k].valid(); ++e) {
          const double part = here[r.gradient[k].id][e] * direction[e];
          derivative += part;
          size += std::abs(part);
        }
        const double difference = slope(r, at, here, moved, direction);
        if (!(std::abs(derivative - difference) <= tolerance * std::max(1.0, size))) worst.see(i, derivative, difference);
        ++checks;
      }
      if (worst.count > 0)
        mistakes.push_back(name + ", operand " + std::to_string(k) +
                           worst.text(large ? "" : operands_at(r, at, k, worst.element)));
    }
  }
};

}  // namespace gradual::op_checks
