#pragma once
#include <algorithm>
#include <span>
#include <utility>

#include <gradual/autodiff/backward.hpp>
#include <gradual/autodiff/metric_names.hpp>
#include <gradual/autodiff/ops.hpp>
#include <gradual/autodiff/scope.hpp>

namespace gradual {

using f32 = float;
using f64 = double;
using i32 = std::int32_t;
using u8 = std::uint8_t;

/// The types of one sample of each input: `Inputs<f32[64], i32>`.
template <class... T>
struct Inputs {
  static constexpr int count = sizeof...(T);
};

namespace detail {

/// The type of the parameters, and of their sums, of a net with these inputs: double if an input is double, else float.
template <class In>
struct RealOf {
  static_assert(!std::is_same_v<In, In>, "write a net's inputs as in Compiled<Model, Inputs<f32[64], i32>>");
  using type = float;
};
template <class... T>
struct RealOf<Inputs<T...>> {
  using type = std::conditional_t<(std::is_same_v<std::remove_all_extents_t<T>, double> || ...), double, float>;
};

template <class T>
constexpr Shape sample_shape() {
  static_assert(std::rank_v<T> < max_rank, "a sample has at most five axes");
  Shape shape;
  shape.rank = std::rank_v<T>;
  [&]<unsigned... I>(std::integer_sequence<unsigned, I...>) {
    ((shape.extent[I] = std::extent_v<T, I>), ...);
  }(std::make_integer_sequence<unsigned, std::rank_v<T>>{});
  return shape;
}

/// Adds an input of samples; the model gets bytes as floats.
template <class T>
constexpr Var sample_input(Tape& tape) {
  using E = std::remove_all_extents_t<T>;
  const Shape shape = Shape::per_sample(sample_shape<T>());
  if constexpr (std::is_same_v<E, u8>) return convert(input(tape, shape, DType::u8), DType::f32);
  else return input(tape, shape, dtype_of<E>);
}

constexpr void check_per_sample(Tape& tape, const char* what, Var v, const char* shapes = "[batch] or [batch, tokens]") {
  if (v.valid() && v.shape().batch_axis != 0)
    tape.fail(Message() << what << ": needs one value per sample, shape " << shapes << ", got " << v.shape(), {v});
}

/// Checks the type of a value that the host reads; smaller types have been widened.
constexpr void check_real(Tape& tape, const char* what, Var v) {
  if (v.valid() && v.dtype() != tape.real)
    tape.fail<TypeError>(Message() << what << ": needs " << name_of(tape.real) << " values, got " << name_of(v.dtype())
                                   << (v.dtype() == DType::i32 ? "; `convert` makes them floats" : ""), {v});
}

constexpr void check_tape(Tape& tape, const char* what, Var v) {
  if (v.valid() && v.tape != &tape) tape.fail<TapeError>(Message() << what << ": the value belongs to another tape");
}

/// Checks that there are no scalars: the numbers given to a compiled net are its inputs and parameters alone.
constexpr void check_no_scalars(Tape& tape) {
  if (!tape.scalars.empty())
    tape.fail("a model cannot use a Scalar, only optimizers can: make a number that changes an input of each sample, or a "
              "frozen parameter that is written between windows");
}

/// Returns a hint on how to bring a metric or weight to the loss's shape. A weight is not averaged where the loss is a mean.
constexpr const char* how_to_make_it(const Shape& shape, const Shape& loss, bool weighs) {
  if (shape.rank == 1 && loss.rank == 2)
    return "; broadcast(reshape(it, Shape::per_sample({1})), loss.shape()) makes it so";
  if (loss.rank != 1) return "";
  if (weighs && shape.rank > 1)
    return "; a loss that is not yet a mean, such as square(y - target) or softplus(s) - y * s, has such weights";
  return shape.rank == 0 ? "; broadcast(it, Shape::per_sample({})) makes it so" : "; mean_per_sample makes it so";
}

constexpr void add_root(Tape& tape, Role role, int index, Var v) {
  if (v.valid()) tape.roots.push_back({role, index, v.id});
}

}  // namespace detail

/// Adds a model's loss to the tape's roots: loss, weight and metrics. The loss has been converted with `as_given`.
/// Errors: for a loss, weight or metric without one value per sample, not in the parameters' type or of another tape, and for
/// shapes that differ.
template <class = void>  // so that gradual::kernels can have the code
[[gnu::noinline]] constexpr void record_loss(Tape& tape, const Loss& loss) {
  if (!tape.error.empty()) return;
  if (!loss.value.valid()) {
    tape.fail("loss: the model returned no value");
    return;
  }
  detail::check_tape(tape, "loss", loss.value);
  detail::check_tape(tape, "weight", loss.weight);
  detail::check_tape(tape, "plus", loss.term);
  for (int i = 0; i < loss.metric_count; ++i) {
    if (!loss.metrics[i].value.valid()) tape.fail(Message() << "metric '" << loss.metrics[i].name.view() << "': no value");
    detail::check_tape(tape, "metric", loss.metrics[i].value);
    detail::check_tape(tape, "metric's weight", loss.metrics[i].weight);
  }
  if (!tape.error.empty()) return;
  detail::check_real(tape, "loss", loss.value);
  detail::check_real(tape, "weight", loss.weight);
  for (int i = 0; i < loss.metric_count; ++i) {
    detail::check_real(tape, "metric", loss.metrics[i].value);
    detail::check_real(tape, "metric's weight", loss.metrics[i].weight);
  }
  detail::check_per_sample(tape, "loss", loss.value);
  detail::check_per_sample(tape, "weight", loss.weight);
  if (loss.weight.valid() && !(loss.weight.shape() == loss.value.shape()))
    tape.fail(Message() << "weight: shape " << loss.weight.shape() << " is not the loss's " << loss.value.shape()
                        << detail::how_to_make_it(loss.weight.shape(), loss.value.shape(), true));
  for (int i = 0; i < loss.metric_count; ++i)
    for (const Var v : {loss.metrics[i].value, loss.metrics[i].weight})
      if (v.valid() && !(v.shape() == loss.value.shape()))
        tape.fail(Message() << "metric '" << loss.metrics[i].name.view() << "': shape " << v.shape() << " is not the loss's "
                            << loss.value.shape() << detail::how_to_make_it(v.shape(), loss.value.shape(), false));
  if (loss.term.valid() && (loss.term.shape().batched() || loss.term.shape().unit() != 1))
    tape.fail(Message() << "plus: needs one number computed from parameters, got " << loss.term.shape());
  detail::check_real(tape, "plus", loss.term);
  if (!tape.error.empty()) return;
  detail::add_root(tape, Role::loss, 0, loss.value);
  detail::add_root(tape, Role::weight, 0, loss.weight);
  for (int i = 0; i < loss.metric_count; ++i) {
    detail::add_root(tape, Role::metric, i, loss.metrics[i].value);
    detail::add_root(tape, Role::metric_weight, i, loss.metrics[i].weight);
  }
}

/// Records the scalar by which a training program scales its loss.
constexpr Var loss_scale_of(Tape& tape) {
  return tape.record(op_info<Input>, {}, Shape{}, tape.real, {.integer = {loss_scale_slot, Input::scalar}});
}

/// Records a loss and its gradients: the roots of `record_loss`, and one gradient per parameter, times the number `scale` if
/// there is one. Gradients of the parameters `without` are 0: what was recorded for them stays unused, and the others have the
/// same bits as without this option. Errors: TapeError if there are parameters, but the loss has a derivative by none of them.
template <class = void>  // so that gradual::kernels can have the code
[[gnu::noinline]] constexpr void record_gradients(Tape& tape, const Loss& of, BackwardSpace& space, Var scale = {},
                                                  std::span<const int> without = {}) {
  const Loss loss = as_given(of);
  record_loss(tape, loss);
  if (!tape.error.empty()) return;
  std::vector<int>& targets = space.targets;
  targets.clear();
  for (std::size_t p = 0; p < tape.parameters.size(); ++p)
    targets.push_back(parameter(tape, static_cast<int>(p)).id);
  tape.first_adjoint = tape.size();
  Var seed = loss.weight.valid() ? stop_gradient(loss.weight) : constant_like(loss.value, 1);
  if (scale.valid()) seed = seed * scale;
  backward(loss.value, seed, space);
  std::vector<Var> of_term;  // the sum over a window is later divided by its weight, so the term is multiplied by it
  if (loss.term.valid()) {
    Var weight = value_of(0, loss.term);
    of_term = backward(loss.term, broadcast(scale.valid() ? weight * scale : weight, loss.term.shape()), targets);
  }
  bool learns = targets.empty();
  for (std::size_t p = 0; p < targets.size(); ++p) {
    const auto id = static_cast<std::size_t>(targets[p]);
    Var g = id < space.adjoint.size() ? space.adjoint[id] : Var{};
    if (id < of_term.size() && of_term[id].valid()) g = g.valid() ? g + of_term[id] : of_term[id];
    learns = learns || g.valid();
    const bool left_out = std::find(without.begin(), without.end(), static_cast<int>(p)) != without.end();
    if (!g.valid() || left_out) g = constant_like({&tape, targets[p]}, 0);
    detail::add_root(tape, Role::gradient, static_cast<int>(p), g);
  }
  if (!learns)
    tape.fail<TapeError>("loss: has no derivative with respect to any parameter, so nothing would be learned: argmax, "
                         "comparisons, round and stop_gradient let none through", {loss.value});
}

namespace detail {
/// Records `model.loss(inputs...)`.
template <class Model, class... T>
constexpr Loss trace_loss(Tape& tape, Inputs<T...>) {
  tape.real = dtype_of<typename RealOf<Inputs<T...>>::type>;
  const Model model{Scope(tape.parameters, &tape.error)};
  Var in[] = {sample_input<T>(tape)...};
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> Loss {
    static_assert(requires { model.loss(in[I]...); }, "a model's `loss` takes one Var for each of its Inputs, and is const");
    if constexpr (std::is_convertible_v<decltype(model.loss(in[I]...)), Loss>) return model.loss(in[I]...);
    else return tape.fail("loss returns one Var, or a Loss with metrics and weights, not several values");
  }(std::make_index_sequence<sizeof...(T)>());
}
}  // namespace detail

/// Returns the names of the metrics of a model's loss.
template <class Model, class In>
constexpr MetricNames metric_names_of(In inputs) {
  Tape tape;
  return MetricNames(detail::trace_loss<Model>(tape, inputs));
}

namespace detail {
/// Checks the types of sums over samples: a compiled session holds them as `Accumulate` says, or all in double.
constexpr void check_sums(Tape& tape) {
  const bool in_double = tape.real == DType::f64;
  const std::vector<char> wanted = wanted_nodes(tape);
  const Node* const nodes = tape.nodes.data();
  const int size = tape.size();
  for (int i = 0; i < size; ++i)
    if (is_sample_sum(nodes[i].op->kind) && (nodes[i].dtype == DType::f64) != in_double &&
        wanted[static_cast<std::size_t>(i)] != 0)
      tape.fail<TypeError>(Message() << "a parameter is combined with values of " << name_of(tape[i].dtype)
                                     << tape.in_layer({Var(&tape, i)}).view()
                                     << ": a net with an input of double computes in double, others in float, bf16 or f16; "
                                        "Accumulate::in<double>() sums floats in double");
}
}  // namespace detail

/// Records `model.loss(inputs...)` and its gradients; `scaled`: of the loss times the loss scale. Errors: those of
/// `record_gradients`; TypeError for sums over samples in a type other than the parameters'.
template <class Model, class... T>
constexpr Tape trace_training(Inputs<T...> inputs, bool scaled = false) {
  Tape tape;
  tape.nodes.reserve(256);  // compilers take long to move nodes
  const Loss loss = detail::trace_loss<Model>(tape, inputs);
  detail::check_no_scalars(tape);
  BackwardSpace space;
  record_gradients(tape, loss, space, scaled ? loss_scale_of(tape) : Var{});
  detail::check_sums(tape);
  return tape;
}

namespace detail {
template <class Model, std::size_t... I>
constexpr bool predicts_from(std::index_sequence<I...>) {
  return requires(const Model& model, Var x) { model.predict((static_cast<void>(I), x)...); };
}

/// The inputs that a model's `predict` takes: the first ones, as many as it has arguments.
template <class Model, class Taken, class... Left>
struct PredictInputs {
  static_assert(!std::is_same_v<Taken, Taken>,
                "an inference needs a const function `predict` that takes the model's first inputs, one or more, and nothing "
                "else; this model has none");
};
template <class Model, class... T, class Next, class... Left>
struct PredictInputs<Model, Inputs<T...>, Next, Left...>
    : std::conditional_t<predicts_from<Model>(std::make_index_sequence<sizeof...(T) + 1>()),
                         std::type_identity<Inputs<T..., Next>>, PredictInputs<Model, Inputs<T..., Next>, Left...>> {};
}  // namespace detail

/// Adds a model's prediction to the tape's roots. Errors: for one that does not have one value, or one row of values, per
/// sample, is not in the parameters' type or is of another tape.
constexpr void record_prediction(Tape& tape, Var prediction) {
  detail::check_tape(tape, "predict", prediction);
  detail::check_real(tape, "predict", prediction);
  detail::check_per_sample(tape, "predict", prediction, "[batch, ...]");
  detail::add_root(tape, Role::prediction, 0, prediction);
}

/// Records `model.predict(inputs...)`, converted with `as_given`, as the root prediction. `draws`: dropout drops, and noise is
/// drawn. Errors: for a prediction that is not in the parameters' type (`convert` makes it so).
template <class Model, class... T>
constexpr Tape trace_inference(Inputs<T...>, DType real = dtype_of<typename detail::RealOf<Inputs<T...>>::type>,
                               bool draws = false) {
  Tape tape;
  tape.training = draws;
  tape.real = real;
  const Model model{Scope(tape.parameters, &tape.error)};
  Var in[] = {detail::sample_input<T>(tape)...};
  const Var prediction = [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (std::is_convertible_v<decltype(model.predict(in[I]...)), Var>) return as_given(model.predict(in[I]...));
    else return tape.fail("predict returns one Var: concat({a, b}, 1) joins several");
  }(std::make_index_sequence<sizeof...(T)>());
  detail::check_no_scalars(tape);
  if (!tape.error.empty()) return tape;
  record_prediction(tape, prediction);
  tape.first_adjoint = tape.size();
  return tape;
}

}  // namespace gradual
