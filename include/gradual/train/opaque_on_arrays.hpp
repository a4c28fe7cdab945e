#pragma once
#include <span>
#include <type_traits>

#include <gradual/train/frozen.hpp>
#include <gradual/train/opaque_step.hpp>

namespace gradual::detail {

/// The opaque optimizer of a session, which is given the session's arrays, or copies where the host cannot read them.
template <class Optimizer, class Real>
class OpaqueOnArrays : public OpaqueStep<Optimizer, Real> {
  using Base = OpaqueStep<Optimizer, Real>;

 public:
  static constexpr bool exists = true;
  using Base::Base;

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
      const ParameterInfo& parameter = parameters[static_cast<std::size_t>(p)];
      if (!frozen.contains(p)) Base::add(parameter.name.view(), parameter.shape, values, gradients);
      values += parameter.shape.unit(), gradients += parameter.shape.unit();
    }
  }

  /// `read(host, from, bytes)` and `write(to, host, bytes)` copy from and to the session's memory.
  template <class Read, class Write>
  void step(Read read, Write write) {
    if (copies_.empty()) return Base::step();
    const std::int64_t bytes = elements_ * std::int64_t{sizeof(Real)};
    read(copies_.data(), values_, bytes);
    read(copies_.data() + elements_, gradients_, bytes);
    Base::step();
    write(values_, copies_.data(), bytes);
  }

 private:
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
