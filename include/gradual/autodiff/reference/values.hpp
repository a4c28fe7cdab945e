#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>
#include <gradual/autodiff/randomness.hpp>
#include <gradual/autodiff/shadow.hpp>

namespace gradual::detail::reference {

/// The values that ops of `Reference` read: those of earlier nodes.
template <class T, ShadowType S>
class ReferenceValues {
 public:
  using Real = T;    ///< of nodes of float
  static constexpr bool mixed = !std::is_same_v<T, SumOf<S>>;
  using Held = std::conditional_t<mixed, double, T>;
  using Values = std::vector<Held>;

  constexpr const Tape& tape() const { return *tape_; }
  constexpr std::int64_t batch() const { return batch_; }
  constexpr const Randomness& random() const { return random_; }

  constexpr const Values& operator[](int node) const { return values_[static_cast<std::size_t>(node)]; }
  constexpr const Values& in(const Node& node, int k) const { return (*this)[node.in[k]]; }
  constexpr const Shape& shape(const Node& node, int k) const { return tape()[node.in[k]].shape; }
  /// Returns operand k as elements of E.
  template <class E>
  constexpr decltype(auto) operand(const Node& node, int k) const {
    if constexpr (std::is_same_v<E, Held>)
      return (in(node, k));
    else
      return std::vector<E>(in(node, k).begin(), in(node, k).end());
  }

  constexpr std::size_t size(const Node& node) const { return static_cast<std::size_t>(node.shape.elements(batch_)); }
  constexpr std::int64_t extent(const Shape& shape, int axis) const { return shape.extent_of(axis, batch_); }
  /// Returns zeros for a node's elements. (clang 14 cannot evaluate libstdc++'s vector(n).)
  constexpr Values zeros(const Node& node) const { return Values(size(node), Held(0)); }
  static constexpr Held rounded(const Node& node, Held value) {
    switch (node.dtype) {
      case DType::f32: return static_cast<Held>(static_cast<T>(value));
      case DType::bf16: return static_cast<Held>(rounded_to<bf16>(value));
      case DType::f16: return static_cast<Held>(rounded_to<f16>(value));
      default: return value;
    }
  }

 protected:
  constexpr ReferenceValues(const Tape& tape, std::int64_t batch, const Randomness& random)
      : tape_(&tape), batch_(batch), random_(random), values_(tape.nodes.size()) {}

  const Tape* tape_;
  std::int64_t batch_;
  Randomness random_;
  std::vector<Values> values_;
};

/// Returns the value of a sum where it is read.
template <class W>
constexpr auto value_of(const W& sum) {
  if constexpr (is_compensated<W>)
    return sum.value();
  else
    return sum;
}

}  // namespace gradual::detail::reference
