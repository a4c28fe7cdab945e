#pragma once
// Slopes of a random graph by finite differences.
#include <cmath>
#include <map>
#include <optional>

#include "random_graph_derivatives.hpp"

namespace random_graph {

/// The first nodes of a tape as a function of a number t, which moves all targets along one direction.
class Line {
 public:
  Line(const OnPaper& paper, const Recorded& r, Var output, std::int64_t batch)
      : inputs_(paper.inputs), output_(output.id), batch_(batch) {
    tape_.nodes.assign(paper.tape.nodes.begin(), paper.tape.nodes.begin() + output.id + 1);
    for (const Scalar& s : paper.tape.scalars) scalars_.push_back(s.at(0));
    for (std::size_t k = 0; k < r.targets.size(); ++k) {
      which_.push_back(static_cast<std::size_t>(r.targets[k].attributes().integer[0]));
      direction_.emplace_back(inputs_[which_[k]].size());
      for (std::size_t i = 0; i < direction_[k].size(); ++i) direction_[k][i] = 2 * unit_number(mix(k + 1) + i) - 1;
    }
    for (int i = 0; i < tape_.size(); ++i) {
      const auto domain = domains().find(tape_[i].op->id);
      const bool compares =
          tape_[i].op->i32 != nullptr || (tape_[i].op->kind == Kind::row_reduce && !is<Sum>(tape_[i]) && !is<Prod>(tape_[i]));
      if (compares || is<MaxPool2d>(tape_[i]) ||
          (domain != domains().end() && (domain->second.kink_at_zero || domain->second.kink_at_ties)))
        kinks_.push_back(i);
    }
  }
  const std::vector<Values>& direction() const { return direction_; }

  struct Point {
    double value;
    std::uint64_t side;  ///< of every kink, hashed: between points of equal side, the function is smooth
  };
  Point operator()(double t) const {
    std::vector<Values> moved = inputs_;
    for (std::size_t k = 0; k < which_.size(); ++k)
      for (std::size_t i = 0; i < moved[which_[k]].size(); ++i) moved[which_[k]][i] += t * direction_[k][i];
    const Reference<double> at(tape_, batch_, moved, {}, scalars_, randomness);
    std::uint64_t side = 0;
    for (int i : kinks_) side_of(i, at, side);
    return {at[output_][0], side};
  }

  /// Returns the derivative at 0 by 6-point differences whose points lie on one side of every kink, with steps that shrink
  /// until two results agree; nothing if they never do.
  std::optional<double> slope(double scale) const {
    const Point center = (*this)(0);
    std::optional<double> last;
    for (double step = 0x1p-8; step > 0x1p-22; step /= 8) {
      constexpr double weight[] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
      double slope = 0;
      bool smooth = true;
      for (int d = 1; d <= 3 && smooth; ++d) {
        const Point above = (*this)(d * step), below = (*this)(-d * step);
        slope += weight[d - 1] * (above.value - below.value) / step;
        smooth = above.side == center.side && below.side == center.side;
      }
      if (!smooth) continue;
      if (last && std::abs(slope - *last) <= 1e-7 * (scale + std::abs(slope))) return slope;
      last = slope;
    }
    return std::nullopt;
  }

 private:
  static const std::map<std::uint64_t, Domain>& domains() {
    static const auto result = []<class... Op>(OpList<Op...>) {
      std::map<std::uint64_t, Domain> of;
      const auto add = [&]<class O>(O) {
        if constexpr (requires { O::domain; }) of.emplace(op_info<O>.id, O::domain);
      };
      (add(Op{}), ...);
      return of;
    }(MapOps{});
    return result;
  }
  void side_of(int id, const Reference<double>& at, std::uint64_t& side) const {
    const Node& node = tape_[id];
    const auto note = [&](double a, double b) { side = mix(side + (a < b ? 1 : a > b ? 2 : 3)); };
    const Values& y = at[id];
    if (node.op->i32 != nullptr || is<ArgMax>(node)) {
      for (double x : y) side = mix(side + static_cast<std::uint64_t>(x));
    } else if (node.op->kind == Kind::row_reduce) {
      const Values& x = at[node.in[0]];
      for (std::size_t i = 0; i < x.size(); ++i) note(x[i], y[i * y.size() / x.size()]);
    } else if (is<Where>(node)) {
      for (double x : at[node.in[0]]) note(std::abs(x), 0);
    } else if (is<MaxPool2d>(node)) {
      const Pooling p = recorded_pooling(tape_.nodes.data(), node);
      for (std::size_t i = 0; i < y.size(); ++i)
        for (std::int64_t place = 0; place < p.y.kernel * p.x.kernel; ++place) {
          const std::int64_t plane = static_cast<std::int64_t>(i) / p.positions(),
                             position = static_cast<std::int64_t>(i) % p.positions();
          const std::int64_t row = p.y.at(position / p.x.out, place / p.x.kernel),
                             column = p.x.at(position % p.x.out, place % p.x.kernel);
          if (row >= 0 && column >= 0)
            note(at[node.in[0]][static_cast<std::size_t>((plane * p.y.in + row) * p.x.in + column)], y[i]);
        }
    } else {
      const Domain& domain = domains().at(node.op->id);
      for (std::size_t i = 0; i < y.size(); ++i)
        for (int k = 0; k < node.op->arity; ++k) {
          if (domain.kink_at_zero) note(at[node.in[k]][i], 0);
          if (domain.kink_at_ties && k > 0) note(at[node.in[0]][i], at[node.in[k]][i]);
        }
    }
  }

  Tape tape_;
  std::vector<Values> inputs_, direction_;
  Values scalars_;
  std::vector<std::size_t> which_;
  std::vector<int> kinks_;
  int output_;
  std::int64_t batch_;
};

}  // namespace random_graph
