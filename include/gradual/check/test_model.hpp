#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gradual/check/drawn_numbers.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/train/eager_net.hpp>
#include <gradual/train/interpret.hpp>

namespace gradual {

/// The result of `test_model`.
struct ModelCheck {
  /// The derivative of a loss as one parameter moves along a direction, and the same by differences of losses.
  struct Slope {
    std::string parameter;
    std::int64_t elements = 0;
    double derivative = 0, difference = 0;
    double uncertainty = std::numeric_limits<double>::infinity();  ///< distance between the two closest differences
    /// Between slopes from above and from below, as steps shrink to 0: curvature shrinks with the step, a kink stays.
    double jump = std::numeric_limits<double>::infinity();
    double size = 0;  ///< sum of the absolute values of the derivative's terms
    double noise = 0;  ///< precision of losses and slopes

    double apart() const { return std::abs(derivative - difference); }
    /// Returns what is wrong with it, or null.
    const char* mistake() const {
      if (!std::isfinite(derivative)) return "the derivative is not finite";
      const double scale = std::max(size, std::abs(difference)) + noise;
      if (!(uncertainty <= 1e-3 * scale + noise)) return "differences of neighbouring step sizes are far apart";
      if (!(jump <= 1e-3 * scale + 20 * noise)) return "values are at a kink, as of relu at 0: move the parameters a little";
      return apart() <= 1e-6 * scale + 4 * uncertainty + 0.1 * noise ? nullptr : "the derivative is not what differences say";
    }
  };
  std::vector<Slope> slopes;          ///< of each parameter, along the worst direction
  std::vector<std::string> mistakes;  ///< a line for each that is wrong, or that differences cannot determine

  friend std::ostream& operator<<(std::ostream& out, const ModelCheck& check) {
    char row[192];
    std::snprintf(row, sizeof(row), "%-28s %9s %14s %14s %9s %9s\n", "parameter", "elements", "derivative", "differences",
                  "apart", "told to");
    out << row;
    for (const Slope& s : check.slopes) {
      std::snprintf(row, sizeof(row), "%-28.78s %9lld %14s %14s %9s %9s\n", s.parameter.c_str(),
                    static_cast<long long>(s.elements), detail::brief_text(s.derivative).c_str(),
                    detail::brief_text(s.difference).c_str(), detail::brief_text(s.apart(), 2).c_str(),
                    detail::brief_text(s.uncertainty, 2).c_str());
      out << row;
    }
    for (const std::string& mistake : check.mistakes) out << mistake << '\n';
    return out;
  }
};

namespace detail {

/// A model's loss on some samples, and its gradient, in double whatever type the model computes in.
class LossInDouble {
 public:
  using Values = std::vector<double>;

  /// Makes the loss that `record(tape)` records; its gradient is of Σ weight · loss plus each term times the sum of weights.
  template <class Record>
  static LossInDouble of(std::int64_t batch, std::vector<Values> samples, Record record) {
    LossInDouble result(batch, std::move(samples));
    const Loss loss = record(result.tape_);
    BackwardSpace space;
    record_gradients(result.tape_, loss, space);
    if (loss.term.valid()) result.term_ = loss.term.id;
    for (Node& node : result.tape_.nodes)
      if (node.dtype != DType::i32) node.dtype = DType::f64;
    result.forward_ = result.tape_;
    result.forward_.nodes.resize(static_cast<std::size_t>(result.tape_.first_adjoint));
    return result;
  }

  /// Sets the point at which differences are taken.
  void stand_at(std::vector<Values> parameters) {
    center_ = std::move(parameters);
    const Reference<double> here(forward_, batch_, samples_, center_, {1.0});
    losses_ = here.root(Role::loss);
    weights_.assign(losses_.size(), 1);
    for (const Root& root : tape_.roots)
      if (root.role == Role::weight) weights_ = here[root.node];
    total_weight_ = noise_ = 0;
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      total_weight_ += weights_[i];
      noise_ += 1e-9 * std::abs(weights_[i] * losses_[i]);
    }
    const Reference<double> all(tape_, batch_, samples_, center_, {total_weight_});
    gradient_.clear();
    for (std::size_t p = 0; p < center_.size(); ++p) gradient_.push_back(all.root(Role::gradient, static_cast<int>(p)));
  }
  bool is_finite() const {
    return std::ranges::all_of(losses_, [](double loss) { return std::isfinite(loss); });
  }
  bool has_weight() const {
    return std::ranges::any_of(weights_, [](double weight) { return weight != 0; });
  }

  /// Returns the slope as parameter `p` moves along a direction: 6-point central differences at decreasing steps, of which the
  /// one nearest to its predecessor counts. Large steps cross kinks, small ones lose digits.
  ModelCheck::Slope slope(std::size_t p, const Values& direction) const {
    ModelCheck::Slope result{.parameter = std::string(tape_.parameters[p].name.view()),
                             .elements = static_cast<std::int64_t>(direction.size()),
                             .noise = noise_};
    for (std::size_t i = 0; i < direction.size(); ++i) {
      result.derivative += gradient_[p][i] * direction[i];
      result.size += std::abs(gradient_[p][i] * direction[i]);
    }
    constexpr double smallest = 1e-2 / (1 << 18), weight[] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
    double before = std::numeric_limits<double>::quiet_NaN(), bend_before = before;
    double curvature = std::numeric_limits<double>::infinity();
    for (double step = 1e-2; step >= smallest; step /= 8) {
      const double above = change(p, direction, 0, step), below = change(p, direction, -step, 0);
      const double bend = (above - below) / step;
      result.jump = std::min(result.jump, std::abs(8 * bend - bend_before) / 7);
      curvature = std::min(curvature, std::abs(bend) / step);
      bend_before = bend;
      double here = weight[0] / step * (above + below);
      for (int d = 2; d <= 3; ++d) here += weight[d - 1] / step * change(p, direction, -d * step, d * step);
      if (const double apart = std::abs(here - before); apart < result.uncertainty)
        result.uncertainty = apart, result.difference = here;
      before = here;
    }
    if (std::isfinite(curvature)) result.noise += 1e-9 * curvature;  // for a loss of 0, where slopes are only rounding errors
    return result;
  }

 private:
  LossInDouble(std::int64_t batch, std::vector<Values> samples) : batch_(batch), samples_(std::move(samples)) {}

  /// Returns the loss at `to` along the direction minus that at `from`: subtracted per sample, which loses fewer digits.
  double change(std::size_t p, const Values& direction, double from, double to) const {
    const auto at = [&](double distance) {
      std::vector<Values> moved = center_;
      for (std::size_t i = 0; i < direction.size(); ++i) moved[p][i] += distance * direction[i];
      return Reference<double>(forward_, batch_, samples_, moved, {1.0});
    };
    const Reference<double> first = at(from), second = at(to);
    const Values &less = first.root(Role::loss), &more = second.root(Role::loss);
    double sum = 0;
    for (std::size_t i = 0; i < more.size(); ++i) sum += weights_[i] * (more[i] - less[i]);
    if (term_ >= 0) sum += total_weight_ * (second[term_][0] - first[term_][0]);
    return sum;
  }

  std::int64_t batch_;
  std::vector<Values> samples_, center_, gradient_;
  Tape tape_, forward_;
  int term_ = -1;
  Values losses_, weights_;
  double total_weight_ = 0, noise_ = 0;
};

/// Checks the slopes of a loss along two directions of each parameter, at these values.
inline ModelCheck check_slopes(LossInDouble loss, std::vector<std::vector<double>> parameters) {
  std::vector<std::size_t> elements;
  for (const std::vector<double>& values : parameters) elements.push_back(values.size());
  loss.stand_at(std::move(parameters));
  ModelCheck result;
  if (!loss.is_finite()) result.mistakes.push_back("the loss is not finite");
  if (!loss.has_weight()) result.mistakes.push_back("no sample has a weight: nothing is compared");
  if (!result.mistakes.empty()) return result;
  DrawnNumbers random;
  for (std::size_t p = 0; p < elements.size(); ++p) {
    for (int d = 0; d < 2; ++d) {
      std::vector<double> direction(elements[p]);
      for (double& x : direction) x = random.part();
      const ModelCheck::Slope slope = loss.slope(p, direction);
      if (d == 0) result.slopes.push_back(slope);
      else if (ModelCheck::Slope& other = result.slopes.back();
               other.mistake() == nullptr && (slope.mistake() != nullptr || slope.apart() > other.apart()))
        other = slope;
    }
    if (const ModelCheck::Slope& worst = result.slopes.back(); worst.mistake() != nullptr)
      result.mistakes.push_back(worst.parameter + ": " + worst.mistake());
  }
  return result;
}

inline std::vector<double> doubles_of(const Tensor& tensor) {
  const Tensor here = tensor.to(Device::cpu());
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < here.size(); ++i) numbers.push_back(here[i]);
  return numbers;
}

/// Moves a loss to a copy of its tape.
inline Loss on_tape(Loss loss, Tape& tape) {
  for (Var* v : {&loss.value, &loss.weight, &loss.term})
    if (v->valid()) v->tape = &tape;
  loss.metric_count = 0;
  return loss;
}

}  // namespace detail

/// Compares the gradient of a net's loss on these samples with differences of losses, in double and without dropout, along two
/// directions of each parameter: `EXPECT_TRUE(test_model(Net{}, parameters, x, y).mistakes.empty())`. It finds wrong
/// derivatives of user-defined ops, and derivatives hidden by `stop_gradient`. They are compared to about 1e-6 where the model
/// has them; a value on a kink is reported as such. Slow: the reference interpreter computes every op, some 90 times for each
/// parameter; a few samples are enough. `parameters`: all values, parameter after parameter. Errors: DataError for data that do
/// not fit together or cannot be learned from, and for another number of parameters.
template <class Model, class In, class Where, int Kept, class... Data>
ModelCheck test_model(Compiled<Model, In, Where, Kept>,
                      std::span<const typename Compiled<Model, In, Where, Kept>::Real> parameters, const Data&... data) {
  using Net = Compiled<Model, In, Where, Kept>;
  const std::int64_t batch = validate_inputs<typename Net::Training>(In{}, std::span(data)...);
  auto loss = detail::LossInDouble::of(batch, {detail::doubles_of(data)...},
                                       [](Tape& tape) { return detail::trace_loss<Model>(tape, In{}); });
  return detail::check_slopes(std::move(loss), detail::values_of_each<Net>("test_model", parameters));
}

/// The same for an eager net with its parameters' values. Compares what is recorded for these samples: choices that a model
/// made by looking at values stay fixed. Errors: those of the net's function; TapeError for parameters without values.
template <class Real, class Record, class... E>
ModelCheck test_model(const EagerNet<Real, Record>& net, const Dataset<E...>& data) {
  const ParametersIn<Real>& all = net.parameters();
  EagerTape eager(all, data.size());
  const Loss recorded = as_given(data.apply([&](auto... spans) { return Loss(net.record(eager, spans...)); }));
  detail::check_no_scalars(eager);
  detail::validate(eager, 0);
  std::vector<std::vector<double>> samples, parameters;
  for (int i = 0; i < eager.size(); ++i)
    if (is_input(eager[i], Input::sample)) samples.push_back(detail::doubles_of(value(Var(&eager, i))));
  std::vector<Real> values(static_cast<std::size_t>(all.offsets().back()));
  all.copy_to(values);
  for (std::size_t p = 0; p < all.declared().size(); ++p)
    parameters.emplace_back(values.begin() + all.offsets()[p], values.begin() + all.offsets()[p + 1]);
  auto loss = detail::LossInDouble::of(data.size(), std::move(samples), [&](Tape& tape) {
    tape = eager;
    tape.executor = nullptr;
    return detail::on_tape(recorded, tape);
  });
  return detail::check_slopes(std::move(loss), std::move(parameters));
}

}  // namespace gradual
