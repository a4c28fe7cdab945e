#pragma once
#include <functional>
#include <span>

#include <gradual/autodiff/named_values.hpp>
#include <gradual/optim/trace_update.hpp>

namespace gradual {

template <class Real>
using ParameterViewIn = NamedValues<Real>;
using ParameterView = ParameterViewIn<float>;

/// The gradient of one parameter, row-major: the window's mean, Σwᵢ∇ℓᵢ / Σwᵢ.
template <class Real>
using GradientViewIn = NamedValues<const Real>;
using GradientView = GradientViewIn<float>;

namespace detail {
template <class T>
constexpr T& referred(T& optimizer) {
  return optimizer;
}
template <class T>
constexpr T& referred(std::reference_wrapper<T> optimizer) {
  return optimizer;
}
}  // namespace detail

/// The requirements on an opaque optimizer of numbers of `Real`.
template <class T, class Real>
concept StepsOn = requires(T& optimizer, std::span<const ParameterViewIn<Real>> parameters,
                           std::span<const GradientViewIn<Real>> gradients) {
  detail::referred(optimizer).step(parameters, gradients);
};
/// An optimizer that is not a rule: a class, or a `std::ref` of one, with
/// `step(std::span<const ParameterView>, std::span<const GradientView>)`, which may change the parameters' values in any way;
/// for nets in double with `ParameterViewIn<double>` and `GradientViewIn<double>`. Frozen parameters are left out; entry i of
/// both spans is the same parameter, in the order of declaration.
template <class T>
concept OpaqueOptimizer = StepsOn<T, float> || StepsOn<T, double>;

/// The rule traced in place of an opaque optimizer: it leaves the parameters to that optimizer, and the gradient as state.
struct OpaqueRule {
  struct State {
    Var gradient;
  };
  constexpr auto operator()(Var parameter, Var gradient, State) const { return update(parameter, State{gradient}); }
};

namespace detail {

/// Whether a rule is an opaque optimizer, inside adapters or not.
template <class Rule>
inline constexpr bool holds_opaque = OpaqueOptimizer<Rule>;
template <class Rule>
  requires(!OpaqueOptimizer<Rule> && IsAdapter<Rule>)
inline constexpr bool holds_opaque<Rule> = holds_opaque<decltype(Rule::inner)>;

/// The rule that is traced for an optimizer or an adapter, and the opaque optimizer inside it, if any.
template <class Rule>
struct Traced {
  using type = Rule;
  static constexpr const Rule& of(const Rule& rule) { return rule; }
};
template <OpaqueOptimizer Optimizer>
struct Traced<Optimizer> {
  using type = OpaqueRule;
  using Opaque = Optimizer;
  static constexpr OpaqueRule of(const Optimizer&) { return {}; }
  static const Optimizer& inside(const Optimizer& optimizer) { return optimizer; }
};
template <template <class> class Adapter, class Inner>
  requires(!OpaqueOptimizer<Adapter<Inner>> && holds_opaque<Adapter<Inner>>)
struct Traced<Adapter<Inner>> {
  using type = Adapter<typename Traced<Inner>::type>;
  using Opaque = typename Traced<Inner>::Opaque;

  static constexpr type of(const Adapter<Inner>& rule) {
    constexpr bool of_gradients = [] {
      if constexpr (state_size<StateOf<type>>() != 1) return false;
      else return trace_update(type{}, 1).roots[0].node == 0;  // the parameter itself
    }();
    static_assert(of_gradients, "an opaque optimizer steps by itself, after its adapters: they can only change the gradient");
    if constexpr (sizeof(Adapter<Inner>) == sizeof(Inner)) return {Traced<Inner>::of(rule.inner)};
    else {
      const auto& [inner, number] = rule;
      return {Traced<Inner>::of(inner), number};
    }
  }
  static const Opaque& inside(const Adapter<Inner>& rule) { return Traced<Inner>::inside(rule.inner); }
};

}  // namespace detail

}  // namespace gradual
