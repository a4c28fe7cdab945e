#pragma once
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gradual/optim/accumulate.hpp>
#include <gradual/train/frozen.hpp>

namespace gradual::detail {

/// The opaque optimizer of a session, which is given the session's arrays, or copies where the host cannot read them.
template <class Optimizer, class Real>
class OpaqueOnArrays {
  using Held = Traced<HeldBy<Optimizer>>;
  static_assert(StepsOn<typename Held::Opaque, Real>,
                "the opaque optimizer's step takes other numbers than the net's: float, or double for a net in double");

 public:
  static constexpr bool exists = true;
  explicit OpaqueOnArrays(const Optimizer& optimizer) : optimizer_(Held::inside(held_by(optimizer))) {}

  /// `values`, `gradients`: where those of all parameters are stored, one after another, in every step. `readable`: whether the
  /// host can read them.
  void begin(std::span<const ParameterInfo> parameters, const Frozen& frozen, Real* values,
             const Real* gradients, bool readable) {
    values_ = values, gradients_ = gradients;
    for (const ParameterInfo& parameter : parameters) elements_ += parameter.shape.unit();
    if (!readable) {
      copies_.resize(static_cast<std::size_t>(2 * elements_));
      values = copies_.data(), gradients = values + elements_;
    }
    for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
      const Shape& shape = parameters[static_cast<std::size_t>(p)].shape;
      const auto count = static_cast<std::size_t>(shape.unit());
      if (!frozen.contains(p)) {
        const std::string_view name = names_.emplace_back(parameters[static_cast<std::size_t>(p)].name.view());
        parameter_views_.push_back({name, shape, {values, count}});
        gradient_views_.push_back({name, shape, {gradients, count}});
      }
      values += count, gradients += count;
    }
  }

  /// `read(host, from, bytes)` and `write(to, host, bytes)` copy from and to the session's memory.
  template <class Read, class Write>
  void step(Read read, Write write) {
    const std::int64_t bytes = elements_ * std::int64_t{sizeof(Real)};
    if (!copies_.empty()) {
      read(copies_.data(), values_, bytes);
      read(copies_.data() + elements_, gradients_, bytes);
    }
    referred(optimizer_).step(std::span<const ParameterViewIn<Real>>(parameter_views_),
                              std::span<const GradientViewIn<Real>>(gradient_views_));
    if (!copies_.empty()) write(values_, copies_.data(), bytes);
  }

  auto& optimizer() { return referred(optimizer_); }
  auto& optimizer() const { return referred(optimizer_); }

 private:
  typename Held::Opaque optimizer_;
  std::deque<std::string> names_;  ///< of the views; a deque does not move them
  std::vector<ParameterViewIn<Real>> parameter_views_;
  std::vector<GradientViewIn<Real>> gradient_views_;
  Real* values_ = nullptr;
  const Real* gradients_ = nullptr;
  std::int64_t elements_ = 0;
  std::vector<Real> copies_;  ///< values and gradients
};

/// Stands in for a missing opaque optimizer.
struct NoOpaque {
  static constexpr bool exists = false;
  template <class Optimizer>
  explicit NoOpaque(const Optimizer&) {}
};

/// The part of a session's optimizer that it keeps beside the rule.
template <class Optimizer, class Real>
using OpaqueOf = std::conditional_t<holds_opaque<HeldBy<Optimizer>>, OpaqueOnArrays<Optimizer, Real>, NoOpaque>;

}  // namespace gradual::detail
