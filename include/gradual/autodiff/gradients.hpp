#pragma once
#include <vector>

#include <gradual/autodiff/backward.hpp>
#include <gradual/autodiff/missed_view.hpp>
#include <gradual/autodiff/ops/input.hpp>
#include <gradual/autodiff/ops/stop_gradient.hpp>

namespace gradual {

namespace detail {
/// While it lives, a tape that runs its ops only notes them, because backward also records adjoints that are not needed.
class NotingTape {
 public:
  constexpr explicit NotingTape(TapeExecutor* executor)
      : executor_(executor), before_(executor != nullptr && executor->note(true)) {}
  NotingTape(const NotingTape&) = delete;
  NotingTape& operator=(const NotingTape&) = delete;
  constexpr ~NotingTape() {
    if (executor_ != nullptr) executor_->note(before_);
  }

 private:
  TapeExecutor* executor_;
  bool before_;
};

/// Checks that y may be differentiated with respect to the values `of`. Errors: as `vjp`.
constexpr bool can_differentiate(Var y, const std::vector<Var>& of) {
  if (!given("gradients", {y})) return false;
  if (of.empty()) y.tape->fail("gradients: no values to differentiate with respect to", {y});
  for (std::size_t i = 0; i < of.size(); ++i) {
    const Var v = of[i];
    if (!given("gradients", {y, v})) return false;
    if (const Var shown = missed_by(v, y); shown.valid()) {
      y.tape->fail(Message() << "gradients: value " << static_cast<int>(i) << ", " << name_of(v.dtype()) << v.shape()
                             << ", is a view of " << name_of(shown.dtype()) << shown.shape()
                             << ", but the differentiated value was computed from that, not from the view: differentiate "
                                "with respect to that, and slice the derivative", {v});
      return false;
    }
    if (v.node().op->kind == Kind::constant) {
      y.tape->fail(Message() << "gradients: value " << static_cast<int>(i) << ", " << name_of(v.dtype()) << v.shape()
                             << ", is a constant, of which broadcasting makes another: differentiate with respect to "
                                "stop_gradient(constant), and compute from that", {v});
      return false;
    }
    if (v.id > y.id && v.node().op->kind != Kind::input) {  // parameters and samples may be recorded after y
      y.tape->fail(Message() << "gradients: value " << static_cast<int>(i) << ", " << name_of(v.dtype()) << v.shape()
                             << ", was computed after the differentiated value, which does not depend on it", {v});
      return false;
    }
    const bool summed = !v.shape().batched() && y.shape().batched();
    if (!summed || y.tape->executor != nullptr) continue;
    y.tape->fail(Message() << "gradients: those of samples with respect to a value without samples, " << v.shape()
                           << ", are sums over the window, known only at its end"
                           << y.tape->in_layer({v}).view() << ": broadcast it, and differentiate by each sample's copy");
    return false;
  }
  return !of.empty();
}

/// Checks that there is one vector for each of `of`, in its shape and type, on y's tape. Errors: TapeError, ShapeError.
constexpr bool fit_vectors(const char* name, Var y, const std::vector<Var>& of, const std::vector<Var>& vectors) {
  if (!given(name, {y})) return false;
  Tape& tape = *y.tape;
  const auto count = static_cast<std::int64_t>(of.size()), given_vectors = static_cast<std::int64_t>(vectors.size());
  if (count == 0) tape.fail(Message() << name << ": no values to differentiate with respect to");
  else if (count != given_vectors)
    tape.fail(Message() << name << ": " << given_vectors << " vectors for " << count << " values");
  if (count == 0 || count != given_vectors) return false;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!given(name, {y, of[i], vectors[i]})) return false;
    if (of[i].shape() == vectors[i].shape() && of[i].dtype() == vectors[i].dtype()) continue;
    tape.fail(Message() << name << ": vector " << static_cast<int>(i) << " is " << name_of(vectors[i].dtype())
                        << vectors[i].shape() << ", but its value is " << name_of(of[i].dtype()) << of[i].shape());
    return false;
  }
  return true;
}

/// Whether v depends on a parameter or one of `of` other than through integers or `stop_gradient`.
constexpr bool changes_with(Var v, const std::vector<Var>& of) {
  std::vector<char> changes(static_cast<std::size_t>(v.id) + 1, 0);
  for (const Var value : of)
    if (value.id <= v.id) changes[static_cast<std::size_t>(value.id)] = 1;
  for (int i = 0; i <= v.id; ++i) {
    const Node& node = (*v.tape)[i];
    char& any = changes[static_cast<std::size_t>(i)];
    if (is_input(node, Input::parameter)) any = 1;
    if (is<StopGradient>(node) || node.dtype == DType::i32) continue;
    for (int k = 0; k < node.op->arity; ++k) any |= changes[static_cast<std::size_t>(node.in[k])];
  }
  return changes.back() != 0;
}

/// Σᵢ ⟨aᵢ, bᵢ⟩.
constexpr Var inner_product(const std::vector<Var>& a, const std::vector<Var>& b) {
  Var total;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].valid()) return {};  // the tape knows why
    const Var part = reduce_to(a[i] * convert(b[i], a[i].dtype()), Shape{});
    total = total.valid() ? total + part : part;
  }
  return total;
}
}  // namespace detail

/// Returns the vector-Jacobian product: the adjoints of the values `of`, in their order, given y's adjoint `cotangent`, in y's
/// shape; zeros for values that y does not depend on. They are ordinary values and can be differentiated again.
/// Errors: TapeError for a Var of another tape; ShapeError for a cotangent of another shape or type; for an empty `of`; for one
/// of `of` that is a constant or was computed after y; for one that is a view (such as a slice) of a value from which y was
/// computed without that view; and, in a compiled model, for the derivative of a value of samples with respect to one without:
/// that is a sum over the window, which is known only at its end.
constexpr std::vector<Var> vjp(Var y, const std::vector<Var>& of, Var cotangent) {
  std::vector<Var> result(of.size());
  if (!detail::given("vjp", {y, cotangent})) return result;
  Tape& tape = *y.tape;
  if (!(cotangent.shape() == y.shape()) || cotangent.dtype() != y.dtype()) {
    tape.fail(Message() << "vjp: a cotangent of " << name_of(cotangent.dtype()) << cotangent.shape() << " for a value of "
                        << name_of(y.dtype()) << y.shape());
    return result;
  }
  if (!detail::can_differentiate(y, of)) return result;
  BackwardSpace space;
  for (Var v : of) space.targets.push_back(v.id);
  TapeExecutor* const runs = tape.in_backward ? nullptr : tape.executor;  // inside a rule, everything is only noted anyway
  {
    const detail::NotingTape noting(runs);
    backward(y, cotangent, space);
  }
  for (std::size_t i = 0; i < of.size(); ++i) {
    const auto id = static_cast<std::size_t>(of[i].id);
    const Var g = id < space.adjoint.size() ? space.adjoint[id] : Var{};
    result[i] = g.valid() ? g : constant_like(of[i], 0);
    if (runs != nullptr) runs->settle(tape, result[i].id);
  }
  return result;
}

/// Returns the adjoints of the values `of` where each element of `y` has the adjoint 1: `gradients(u, {x})[0]` is du/dx of each
/// sample, in compiled and in eager models. Errors: as `vjp`.
constexpr std::vector<Var> gradients(Var y, const std::vector<Var>& of) {
  if (!detail::can_differentiate(y, of)) return std::vector<Var>(of.size());
  return vjp(y, of, constant_like(y, 1));
}

/// Returns the Hessian-vector product H·v of the sum of `loss` with respect to the values `of`, one vector in the shape of
/// each, without the Hessian: the gradient of ⟨gradient, v⟩ (Pearlmutter 1994). The results can be differentiated again, but
/// not by the vectors, which are constants in them; `jvp` of gradients can be differentiated by its vectors too.
/// Errors: as `vjp`; ShapeError for vectors of another number, shape or type, and for vectors that depend on parameters or on
/// `of`, unless `stop_gradient` makes them constants.
constexpr std::vector<Var> hessian_vector(Var loss, const std::vector<Var>& of, const std::vector<Var>& vectors) {
  if (!detail::fit_vectors("hessian_vector", loss, of, vectors)) return std::vector<Var>(of.size());
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    if (!detail::changes_with(vectors[i], of)) continue;
    loss.tape->fail(Message() << "hessian_vector: vector " << static_cast<int>(i)
                              << " depends on parameters or on a variable of differentiation"
                              << loss.tape->in_layer({vectors[i]}).view()
                              << ": stop_gradient makes it a constant; jvp of gradients allows such vectors");
    return std::vector<Var>(of.size());
  }
  std::vector<Var> constants;
  for (const Var v : vectors) constants.push_back(stop_gradient(v));
  return gradients(detail::inner_product(gradients(loss, of), constants), of);
}

/// Returns the Jacobian-vector product Σᵢ ∂y/∂ofᵢ · vᵢ, in the shape of y, by two backward passes: a vector-Jacobian product is
/// linear in its cotangent, with the Jacobian as its factor. The result can be differentiated again, also by the vectors.
/// Errors: as `vjp`; ShapeError for vectors of another number, shape or type; TapeError if y depends on one of `of` through
/// `with_vjp`, whose rules need not be linear.
constexpr Var jvp(Var y, const std::vector<Var>& of, const std::vector<Var>& vectors) {
  if (!detail::fit_vectors("jvp", y, of, vectors)) return {};
  const Var cotangent = stop_gradient(constant_like(y, 0));  // a node of its own, which no rule takes for a constant
  std::vector<Var> adjoints;
  {
    const SetWhile<bool> in_jvp(y.tape->in_jvp, true);
    adjoints = vjp(y, of, cotangent);
  }
  return gradients(detail::inner_product(adjoints, vectors), {cotangent})[0];
}

}  // namespace gradual
