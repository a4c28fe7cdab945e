#pragma once
#include <gradual/autodiff/reference/convolutions.hpp>
#include <gradual/autodiff/reference/elementwise.hpp>
#include <gradual/autodiff/reference/places.hpp>
#include <gradual/autodiff/reference/products.hpp>
#include <gradual/autodiff/reference/reductions.hpp>

namespace gradual {

/// The specification: evaluates a tape node by node on plain arrays in canonical order, in constant evaluation or at
/// run time. Optimised kernels must give the same bits. T is float or double; integers are held as T. S is the type that
/// sums are held in. If that is wider than the tape's floats, all values are held as doubles, each computed in its own type.
/// Values of 16 bits are held in the type in which they are computed, and rounded.
template <class T, ShadowType S = T>
class Reference : public detail::reference::ReferenceValues<T, S> {
  using Base = detail::reference::ReferenceValues<T, S>;

 public:
  using Values = typename Base::Values;

  /// `samples`, `parameters` and `scalars` are the inputs of each family, in order; a whole window is one batch.
  constexpr Reference(const Tape& tape, std::int64_t batch, const std::vector<Values>& samples,
                      const std::vector<Values>& parameters, const Values& scalars = {}, const Randomness& random = {})
      : Base(tape, batch, random) {
    for (std::size_t i = 0; i < tape.nodes.size(); ++i) {
      this->values_[i] = evaluate(tape.nodes[i], samples, parameters, scalars);
      if (is_small(tape.nodes[i].dtype))
        for (auto& value : this->values_[i]) value = Base::rounded(tape.nodes[i], value);
    }
  }

  constexpr const Values& root(Role role, int which = 0) const {
    for (const Root& r : this->tape().roots)
      if (r.role == role && r.index == which) return (*this)[r.node];
    throw ShapeError("the tape has no such root");
  }

 private:
  constexpr Values evaluate(const Node& node, const std::vector<Values>& samples, const std::vector<Values>& parameters,
                            const Values& scalars) const {
    const auto which = static_cast<std::size_t>(node.attributes.integer[0]);
    switch (node.op->kind) {
      case Kind::input:
        if (is_input(node, Input::sample)) return samples[which];
        if (is_input(node, Input::parameter)) return parameters[which];
        return Values(1, scalars[which]);
      case Kind::constant: return detail::reference::constant(*this, node);
      case Kind::reshape: return this->in(node, 0);
      case Kind::iota:
      case Kind::broadcast:
      case Kind::transpose:
      case Kind::slice: return detail::reference::view(*this, node);
      case Kind::pad: return detail::reference::pad(*this, node);
      case Kind::uses: return detail::reference::uses(*this, node);
      case Kind::random: return detail::reference::random(*this, node);
      case Kind::gather: return detail::reference::gather(*this, node);
      case Kind::gather_own: return detail::reference::gather_own(*this, node);
      default:
        if constexpr (Base::mixed)
          if (this->tape()[node.in[node.op->arity == 3 ? 1 : 0]].dtype == DType::f64) return compute<double>(node);
        return compute<T>(node);
    }
  }

  /// Evaluates a node whose operands are computed in type E.
  template <class E>
  constexpr Values compute(const Node& node) const {
    if (is_sample_sum(node.op->kind)) {
      if constexpr (std::is_same_v<E, T>)
        if (!Base::mixed || node.dtype == DType::f64) return sample_sum<E, S>(node);
      return sample_sum<E, E>(node);
    }
    switch (node.op->kind) {
      case Kind::row_reduce: return detail::reference::row_reduce<E>(*this, node);
      case Kind::contract: return detail::reference::contract<E>(*this, node);
      case Kind::convolve: return detail::reference::convolve<E>(*this, node);
      case Kind::pool: return detail::reference::pool<E>(*this, node);
      case Kind::scatter_own: return detail::reference::scatter_own<E>(*this, node);
      default: return detail::reference::map<E>(*this, node);
    }
  }
  /// Evaluates a sum over samples: closed blocks, which are chains in E, are added up in W.
  template <class E, class W>
  constexpr Values sample_sum(const Node& node) const {
    switch (node.op->kind) {
      case Kind::batch_reduce: return detail::reference::batch_reduce<E, W>(*this, node);
      case Kind::batch_contract: return detail::reference::batch_contract<E, W>(*this, node);
      case Kind::batch_convolve: return detail::reference::batch_convolve<E, W>(*this, node);
      default: return detail::reference::batch_scatter<E, W>(*this, node);
    }
  }
};

}  // namespace gradual
