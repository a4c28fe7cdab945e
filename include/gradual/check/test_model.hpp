#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <gradual/check/random.hpp>
#include <gradual/train/interpret.hpp>

namespace gradual {

namespace check {

/// The derivative of a model's loss as one parameter moves along a direction, beside differences of losses.
struct Slope {
  std::string parameter;
  std::int64_t elements = 0;
  double derivative = 0, difference = 0;
  double uncertainty = std::numeric_limits<double>::infinity();  ///< what the two nearest differences are apart
  double size = 0;  ///< of what the derivative is a sum of, in absolute values; at least what losses are known to

  double apart() const { return std::abs(derivative - difference); }
  /// Whether differences tell anything: they jump where the model does.
  bool is_told() const { return uncertainty <= 1e-3 * size; }
  bool agrees() const { return apart() <= 1e-6 * size + 4 * uncertainty; }
};

}  // namespace check

/// What `test_model` has found: the slope of each parameter along which derivative and differences are furthest apart, and a
/// line for each that is wrong or that differences cannot tell.
struct ModelCheck {
  std::vector<check::Slope> slopes;
  std::vector<std::string> mistakes;

  friend std::ostream& operator<<(std::ostream& out, const ModelCheck& check) {
    char row[192];
    std::snprintf(row, sizeof(row), "%-28s %9s %14s %14s %9s %9s\n", "parameter", "elements", "derivative", "differences",
                  "apart", "told to");
    out << row;
    for (const check::Slope& s : check.slopes) {
      std::snprintf(row, sizeof(row), "%-28.78s %9lld %14.6g %14.6g %9.1e %9.1e\n", s.parameter.c_str(),
                    static_cast<long long>(s.elements), s.derivative, s.difference, s.apart(), s.uncertainty);
      out << row;
    }
    for (const std::string& mistake : check.mistakes) out << mistake << '\n';
    return out;
  }
};

namespace check {

/// A model's loss of some samples, and its gradient, in double whatever the model computes in.
class LossInDouble {
 public:
  using Values = std::vector<double>;

  /// Records the loss of `Model`, whose gradient is that of Σ weight · loss, and of each term times the sum of weights.
  template <class Model, class In>
  static LossInDouble of(std::int64_t batch, std::vector<Values> samples) {
    LossInDouble result(batch, std::move(samples));
    const Loss loss = detail::trace_loss<Model>(result.tape_, In{});
    BackwardSpace space;
    record_gradients(result.tape_, loss, space);
    if (loss.term.valid()) result.term_ = loss.term.id;
    for (Node& node : result.tape_.nodes)
      if (node.dtype != DType::i32) node.dtype = DType::f64;
    result.forward_ = result.tape_;
    result.forward_.nodes.resize(static_cast<std::size_t>(result.tape_.first_adjoint));
    return result;
  }

  /// Looks at one place, to which differences are taken.
  void stand_at(std::vector<Values> parameters) {
    center_ = std::move(parameters);
    const Reference<double> here(forward_, batch_, samples_, center_, {1.0});
    losses_ = here.root(Role::loss);
    weights_.assign(losses_.size(), 1);
    for (const Root& root : tape_.roots)
      if (root.role == Role::weight) weights_ = here[root.node];
    total_weight_ = known_ = 0;
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      total_weight_ += weights_[i];
      known_ += 1e-9 * std::abs(weights_[i] * losses_[i]);
    }
    const Reference<double> all(tape_, batch_, samples_, center_, {total_weight_});
    gradient_.clear();
    for (std::size_t p = 0; p < center_.size(); ++p) gradient_.push_back(all.root(Role::gradient, static_cast<int>(p)));
  }
  bool is_finite() const {
    return std::ranges::all_of(losses_, [](double loss) { return std::isfinite(loss); });
  }

  /// The slope as parameter `p` moves along a direction: 6-point central differences at ever smaller steps, of which the one
  /// counts that is nearest to the one before. Large steps cross kinks, small ones lose digits.
  Slope slope(std::size_t p, const Values& direction) const {
    Slope result{.parameter = std::string(tape_.parameters[p].name.view()),
                 .elements = static_cast<std::int64_t>(direction.size()),
                 .size = known_};
    for (std::size_t i = 0; i < direction.size(); ++i) {
      result.derivative += gradient_[p][i] * direction[i];
      result.size += std::abs(gradient_[p][i] * direction[i]);
    }
    double before = std::numeric_limits<double>::quiet_NaN();
    for (double step = 1e-2; step > 1e-8; step /= 8) {
      double here = 0;
      constexpr double weight[] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
      for (int d = 1; d <= 3; ++d) here += weight[d - 1] / step * change(p, direction, d * step);
      if (const double apart = std::abs(here - before); apart < result.uncertainty)
        result.uncertainty = apart, result.difference = here;
      before = here;
    }
    return result;
  }

 private:
  LossInDouble(std::int64_t batch, std::vector<Values> samples) : batch_(batch), samples_(std::move(samples)) {}

  /// What the loss is more at `by` along the direction than at −`by`: of each sample by itself, which loses fewer digits.
  double change(std::size_t p, const Values& direction, double by) const {
    const auto at = [&](double distance) {
      std::vector<Values> moved = center_;
      for (std::size_t i = 0; i < direction.size(); ++i) moved[p][i] += distance * direction[i];
      return Reference<double>(forward_, batch_, samples_, moved, {1.0});
    };
    const Reference<double> above = at(by), below = at(-by);
    const Values &up = above.root(Role::loss), &down = below.root(Role::loss);
    double sum = 0;
    for (std::size_t i = 0; i < up.size(); ++i) sum += weights_[i] * (up[i] - down[i]);
    if (term_ >= 0) sum += total_weight_ * (above[term_][0] - below[term_][0]);
    return sum;
  }

  std::int64_t batch_;
  std::vector<Values> samples_, center_, gradient_;
  Tape tape_, forward_;
  int term_ = -1;
  Values losses_, weights_;
  double total_weight_ = 0, known_ = 0;
};

}  // namespace check

/// Compares the gradient of a net's loss, of these samples, with differences of losses, in double and without dropout, along
/// two directions of each parameter: `EXPECT_TRUE(test_model(Net{}, parameters, x, y).mistakes.empty())`. It finds a wrong
/// derivative of an op of one's own, and what `stop_gradient` hides. Derivatives are told to some 1e-6 where the model
/// has them; where a value stands just on a kink, as of relu at 0, they are not. Slow: every op is computed by the reference
/// interpreter, 84 times for each parameter; a few samples are enough. `parameters`: all values, parameter after
/// parameter. Errors: DataError for spans that do not fit each other or values that are not finite.
template <class Model, class In, class Where, int Kept, class... Data>
ModelCheck test_model(Compiled<Model, In, Where, Kept>, std::span<const float> parameters, const Data&... data) {
  using Net = Compiled<Model, In, Where, Kept>;
  const std::int64_t batch = validate_inputs<typename Net::Training>(In{}, std::span(data)...);
  const auto doubles = []<class E>(std::span<const E> values) {
    std::vector<double> wide;
    for (const E value : values) wide.push_back(static_cast<Computed<E>>(value));
    return wide;
  };
  auto loss = check::LossInDouble::of<Model, In>(batch, {doubles(std::span<const typename Data::value_type>(data))...});
  loss.stand_at(detail::values_of_each<Net, double>("test_model", parameters));
  ModelCheck result;
  if (!loss.is_finite()) return result.mistakes.push_back("the loss is not finite"), result;
  check::Random random;
  for (int p = 0; p < Net::parameter_count; ++p) {
    check::Slope worst;
    const char* wrong = nullptr;
    for (int d = 0; d < 2; ++d) {
      std::vector<double> direction(static_cast<std::size_t>(Net::parameter(p).shape.unit()));
      for (double& x : direction) x = random.part();
      const check::Slope slope = loss.slope(static_cast<std::size_t>(p), direction);
      if (!slope.is_told()) wrong = ": differences at neighbouring steps are far apart";
      else if (!slope.agrees()) wrong = ": the derivative is not what differences say";
      if (d == 0 || !(slope.apart() <= worst.apart())) worst = slope;
    }
    if (wrong != nullptr) result.mistakes.push_back(worst.parameter + wrong);
    result.slopes.push_back(worst);
  }
  return result;
}

}  // namespace gradual
