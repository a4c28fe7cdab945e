#pragma once
#include <gradual/eager/tape.hpp>
#include <string>
#include <vector>

namespace gradual {

namespace detail {
/// Σᵢ ⟨aᵢ, bᵢ⟩, the vectors b being constants.
inline Var inner_product(const std::vector<Var>& a, const std::vector<Var>& b) {
  Var total;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Var part = reduce_to(a[i] * stop_gradient(b[i]), Shape{});
    total = total.valid() ? total + part : part;
  }
  return total;
}

inline void check_vectors(const char* name, Var y, const std::vector<Var>& of, const std::vector<Var>& vectors) {
  tape_of_all(y, of);
  if (of.empty()) throw ShapeError(std::string(name) + ": no values to differentiate by");
  if (of.size() != vectors.size())
    throw ShapeError(std::string(name) + ": " + std::to_string(vectors.size()) + " vectors for " +
                     std::to_string(of.size()) + " values");
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (vectors[i].tape != y.tape) throw TapeError(std::string(name) + ": a vector of another tape, or none");
    if (!(of[i].shape() == vectors[i].shape()) || of[i].dtype() != vectors[i].dtype())
      throw ShapeError((Message() << name << ": vector " << static_cast<int>(i) << " is " << name_of(vectors[i].dtype())
                                  << vectors[i].shape() << ", its value " << name_of(of[i].dtype()) << of[i].shape())
                           .string());
  }
}
}  // namespace detail

/// The Hessian-vector product H·v of the sum of `loss` by the values `of`, one vector in the shape of each, without the
/// Hessian: the gradient of ⟨gradient, v⟩ (Pearlmutter 1994). The results can be differentiated again.
/// Errors: ShapeError for vectors of another number, shape or type; TapeError for another tape.
inline std::vector<Var> hessian_vector(Var loss, const std::vector<Var>& of, const std::vector<Var>& vectors) {
  detail::check_vectors("hessian_vector", loss, of, vectors);
  return gradients(detail::inner_product(gradients(loss, of), vectors), of);
}

/// The Jacobian-vector product Σᵢ ∂y/∂ofᵢ · vᵢ, in the shape of y, by two backward passes: a vector-Jacobian product is
/// linear in its cotangent, and what it is multiplied by there is the Jacobian. Errors: as `hessian_vector`.
inline Var jvp(Var y, const std::vector<Var>& of, const std::vector<Var>& vectors) {
  detail::check_vectors("jvp", y, of, vectors);
  const Var cotangent = stop_gradient(constant_like(y, 0));  // a node of its own, which no rule takes for a number
  return gradients(detail::inner_product(vjp(y, of, cotangent), vectors), {cotangent})[0];
}

}  // namespace gradual
