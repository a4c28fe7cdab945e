#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/optim/accumulate.hpp>

namespace gradual::detail {

/// The opaque optimizer of a session, with the arguments of its steps.
template <class Optimizer, class Real>
class OpaqueStep {
  using Held = Traced<HeldBy<Optimizer>>;
  static_assert(StepsOn<typename Held::Opaque, Real>,
                "the opaque optimizer's step takes other numbers than the net's: float, or double for a net in double");

 public:
  explicit OpaqueStep(const Optimizer& optimizer) : optimizer_(Held::inside(held_by(optimizer))) {}

  /// Adds a parameter to the arguments: the places of its values and its mean gradient in every step.
  void add(std::string_view name, const Shape& shape, Real* values, const Real* gradient) {
    const auto count = static_cast<std::size_t>(shape.unit());
    const std::string_view kept = names_.emplace_back(name);
    parameters_.push_back({kept, shape, {values, count}});
    gradients_.push_back({kept, shape, {gradient, count}});
  }
  void step() {
    referred(optimizer_).step(std::span<const ParameterViewIn<Real>>(parameters_),
                              std::span<const GradientViewIn<Real>>(gradients_));
  }

  auto& optimizer() { return referred(optimizer_); }
  auto& optimizer() const { return referred(optimizer_); }

 private:
  typename Held::Opaque optimizer_;
  std::deque<std::string> names_;  ///< of the views; a deque does not move them
  std::vector<ParameterViewIn<Real>> parameters_;
  std::vector<GradientViewIn<Real>> gradients_;
};

}  // namespace gradual::detail
