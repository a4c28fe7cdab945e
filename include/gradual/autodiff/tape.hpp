#pragma once
#include <concepts>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradual/autodiff/label_range.hpp>
#include <gradual/autodiff/op.hpp>
#include <gradual/autodiff/scalar.hpp>
#include <gradual/core/dtype.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/fnv.hpp>
#include <gradual/core/shape.hpp>

namespace gradual {

class Tape;
struct Node;

/// A handle to a value on a tape. An invalid one (`tape == nullptr`) stands for "no value" or, in adjoints, for zero.
struct Var {
  Tape* tape = nullptr;
  int id = -1;
  int generation = 0;  ///< the tape's when this was made: once the tape has been forgotten, the value is gone

  constexpr Var() = default;
  constexpr Var(Tape* tape, int id);

  constexpr bool valid() const { return tape != nullptr && id >= 0; }
  // Returned by value: a reference would dangle as soon as the tape grows.
  constexpr Shape shape() const;
  constexpr DType dtype() const;
  constexpr Attributes attributes() const;
  /// Errors: TapeError if the tape has been forgotten since.
  constexpr const Node& node() const;

  /// Fails to compile, with an explanation: a recorded value has no numbers yet.
  template <std::same_as<bool> Bool>
  constexpr explicit operator Bool() const {
    static_assert(!std::same_as<Bool, bool>,
                  "a program cannot branch on a Var: where(condition, yes, no) selects element by element; \"and\" is a "
                  "product, \"not\" is 1.0 - condition");
    return false;
  }
};

/// One recorded operation.
struct Node {
  const OpInfo* op = nullptr;
  int in[3] = {-1, -1, -1};
  DType dtype = DType::f32;
  Shape shape;
  Attributes attributes;
  int layer = -1;  ///< index of the parameter whose scope names the layer that recorded this
};

/// Whether two nodes compute the same function of equal operands, whatever their shapes.
constexpr bool same_op(const Node& a, const Node& b) {
  return a.op->id == b.op->id && a.dtype == b.dtype && a.attributes == b.attributes;
}

namespace detail {
/// Whether a node shows elements of its operand, which it does not change.
constexpr bool is_view(const Node& node) {
  const Kind kind = node.op->kind;
  return kind == Kind::slice || kind == Kind::reshape || kind == Kind::transpose || kind == Kind::broadcast;
}
}  // namespace detail

/// What a node is wanted for after differentiation.
enum class Role : unsigned char { loss, weight, metric, metric_weight, prediction, gradient, value };
struct Root {
  Role role = Role::value;
  int index = 0;
  int node = -1;
};

/// A value to be looked at, by name.
struct Tap {
  Name name;
  int node = -1;
};

/// The initial value of a parameter: a constant, uniform in (−scale, scale), or normal with standard deviation `scale`.
struct Initializer {
  enum class Kind : unsigned char { constant, uniform, normal } kind = Kind::constant;
  double scale = 0;
  std::int64_t zeros_begin = 0, zeros_end = 0;  ///< elements in [zeros_begin, zeros_end) are 0 instead

  constexpr Initializer() = default;
  // Not an aggregate: in templates, clang 14 would take the {.bias = false} of another overload for one.
  constexpr Initializer(Kind which, double of) : kind(which), scale(of) {}
  constexpr bool operator==(const Initializer&) const = default;
  /// Whether numbers can be drawn with it: its bound or deviation is finite and not negative.
  constexpr bool draws() const {
    return kind == Kind::constant || (scale >= 0 && scale <= std::numeric_limits<double>::max());
  }
};

struct ParameterInfo {
  Name name;
  Shape shape;
  Initializer initializer;
  std::uint64_t name_hash = 0;  ///< of parameters declared in a `Scope`: compilers take long to compare texts

  /// Returns the scope that it was declared in, which names its layer; its own name if that is the root.
  constexpr std::string_view layer() const { return name.view().substr(0, name.view().rfind('/')); }
};

/// A value that the caller of a program supplies with each batch.
struct InputInfo {
  Shape shape;
  DType dtype = DType::f32;
};

/// An interface for running operations as they are recorded. After an error the tape does not hold the node.
class TapeExecutor {
 public:
  virtual void recorded(Tape& tape, int id) = 0;
  /// Checks labels that `op` is about to use; `staged`: they are views of an input whose classes are declared. Errors:
  /// DataError for a label that the range does not accept.
  virtual void check_labels(const char* op, const Tape& tape, int id, const LabelRange& range, bool staged) = 0;
  /// While `noting`, operations are only noted when they are recorded, and run once they are needed. Returns whether they were
  /// noted before.
  virtual bool note(bool noting) = 0;
  /// Runs, in order, the noted operations that the node needs. Errors: MemoryError.
  virtual void settle(const Tape& tape, int id) = 0;

 protected:
  ~TapeExecutor() = default;
};

/// What `value_key` computes for a node.
struct ValueKey {
  std::uint64_t hash = 0;
  int axis = -1;  ///< along which the node, or a term of it, is padded with zeros
};

/// The ordered list of recorded operations, independent of devices. A mistake is kept as a message in constant evaluation (the
/// caller turns it into a compile error) and thrown at run time, as a `ShapeError`, `TypeError`, `OptionError` or `TapeError`.
class Tape {
 public:
  std::vector<Node> nodes;
  std::vector<ParameterInfo> parameters;
  const std::vector<ParameterInfo>* declared = nullptr;  ///< the model's list, where the tape has its parameters' values
  DType real = DType::f32;  ///< type of parameters, and of comparisons of integers: float or double
  std::vector<InputInfo> inputs;
  std::vector<LabelRange> label_ranges;  ///< of sample inputs
  std::vector<Root> roots;
  std::vector<int> parameter_nodes;  ///< by parameter: the node that reads it, or −1
  std::vector<Scalar> scalars;  ///< numbers known only when the program runs
  std::vector<Tap> taps;
  std::vector<ValueKey> keys;  ///< of the first nodes, as far as `value_key` has computed them
  Message error;
  int first_adjoint = -1;  ///< nodes from here on belong to backward
  bool in_backward = false;  ///< recorded values may be sums over samples
  bool in_jvp = false;       ///< backward is being recorded to be differentiated by its seed
  bool training = true;    ///< whether dropout drops
  int generation = 0;      ///< how often the tape has been forgotten
  int layer = -1;          ///< of the nodes that backward records; −1: derived from operands
  std::string_view composite;  ///< the function being called, if it is made of several ops: errors name it first
  TapeExecutor* executor = nullptr;

  constexpr int size() const { return static_cast<int>(nodes.size()); }
  constexpr const Node& operator[](int id) const { return nodes[static_cast<std::size_t>(id)]; }
  constexpr Node& operator[](int id) { return nodes[static_cast<std::size_t>(id)]; }

  // Recording happens in the compiler; out of line, what a program keeps of it costs no seconds of optimisation.
  template <class = void>  // so that gradual::kernels can have the code
  [[gnu::noinline]] constexpr Var record(const OpInfo& op, const Var* operands, int count, const Shape& shape, DType dtype,
                                         const Attributes& attributes = {}) {
    Node node;
    node.op = &op;
    node.shape = shape;
    node.dtype = dtype;
    node.attributes = attributes;
    LayersOfOperands from;
    for (int i = 0; i < count; ++i) {
      const Var& v = operands[i];
      if (!v.valid()) return fail<TapeError>(Message() << op.name << ": an operand is an empty Var");
      if (v.tape != this) return fail<TapeError>(Message() << op.name << ": operands belong to different tapes");
      from.see(v.node(), v.id);  // node() refuses values of a tape that was forgotten
      node.in[i] = v.id;
    }
    node.layer = layer_of(from);
    if (!shape.countable())
      return fail(Message() << op.name << ": a value of shape " << shape << " is too large or has a negative extent"
                            << in_layer(operands, count).view());
    nodes.push_back(node);
    if (executor != nullptr) executor->recorded(*this, size() - 1);
    return {this, size() - 1};
  }
  constexpr Var record(const OpInfo& op, std::initializer_list<Var> operands, const Shape& shape, DType dtype,
                       const Attributes& attributes = {}) {
    return record(op, operands.begin(), static_cast<int>(operands.size()), shape, dtype, attributes);
  }

  /// Drops everything recorded, but not the declared parameters; keeps the memory for the next recording.
  constexpr void forget() {
    nodes.clear();
    inputs.clear();
    label_ranges.clear();
    roots.clear();
    parameter_nodes.clear();
    scalars.clear();
    taps.clear();
    keys.clear();
    error = {};
    first_adjoint = -1;
    ++generation;
  }

  template <class E = ShapeError>
  [[gnu::cold, gnu::noinline]] constexpr Var fail(const Message& message) {
    Message named;
    if (!composite.empty() && !message.view().starts_with(composite)) named << composite << ": ";
    named << message.view();
    if (!std::is_constant_evaluated()) throw E(named.string());
    if (error.empty()) error = named;
    return {};
  }
  /// The same, with the layer of these operands added to the message.
  template <class E = ShapeError>
  [[gnu::cold, gnu::noinline]] constexpr Var fail(Message message, std::initializer_list<Var> operands) {
    return fail<E>(message << in_layer(operands).view());
  }

  /// " (in layer 'hidden')" where an operand is a parameter, " (after layer 'hidden')" where one was computed by it, or nothing
  /// where no parameter has been seen yet.
  template <class = void>  // so that gradual::kernels can have the code
  [[gnu::noinline]] constexpr Message in_layer(const Var* operands, int count) const {
    LayersOfOperands from;
    bool within = layer >= 0;
    for (int i = 0; i < count; ++i) {
      if (!operands[i].valid()) continue;
      const Node& node = (*this)[operands[i].id];
      from.see(node, operands[i].id);
      within |= node.op->kind == Kind::input && node.layer >= 0;
    }
    const int place = layer_of(from);
    Message text;
    if (place < 0) return text;
    return text << (within ? " (in layer '" : " (after layer '") << parameters[static_cast<std::size_t>(place)].layer() << "')";
  }
  constexpr Message in_layer(std::initializer_list<Var> operands) const {
    return in_layer(operands.begin(), static_cast<int>(operands.size()));
  }

 private:
  /// Layers of operands that are seen one by one: the first parameter's, and that of the most recently recorded operand.
  struct LayersOfOperands {
    int of_parameter = -1, of_latest = -1, latest = -1;
    constexpr void see(const Node& node, int id) {
      if (node.layer < 0) return;
      if (node.op->kind == Kind::input && of_parameter < 0) of_parameter = node.layer;
      if (id > latest) latest = id, of_latest = node.layer;
    }
  };
  /// Returns a parameter's own layer, else the tape's, else that of the most recently recorded operand.
  constexpr int layer_of(const LayersOfOperands& from) const {
    return from.of_parameter >= 0 ? from.of_parameter : layer >= 0 ? layer : from.of_latest;
  }
};

/// Returns, by node, whether a root depends on it.
constexpr std::vector<char> wanted_nodes(const Tape& tape) {
  std::vector<char> result(tape.nodes.size(), 0);
  const Node* const nodes = tape.nodes.data();  // plain pointers: compilers take long to evaluate the functions of std::vector
  char* const wanted = result.data();
  for (const Root& root : tape.roots) wanted[root.node] = 1;
  for (int i = tape.size() - 1; i >= 0; --i)
    if (wanted[i] != 0)
      for (int k = 0; k < nodes[i].op->arity; ++k) wanted[nodes[i].in[k]] = 1;
  return result;
}

constexpr Var::Var(Tape* on, int node) : tape(on), id(node), generation(on->generation) {}
namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_forgotten(int id) {
  throw TapeError("value " + std::to_string(id) + " was used after its tape had forgotten it");
}
}  // namespace detail
constexpr const Node& Var::node() const {
  if (generation != tape->generation) detail::refuse_forgotten(id);
  return tape->nodes[static_cast<std::size_t>(id)];
}
// The Var of an op that failed has these too: what a model computes from them must not hide why it failed.
constexpr Shape Var::shape() const { return tape == nullptr ? Shape{} : node().shape; }
constexpr DType Var::dtype() const { return tape == nullptr ? DType::f32 : node().dtype; }
constexpr Attributes Var::attributes() const { return tape == nullptr ? Attributes{} : node().attributes; }

/// Adjoints of an op's operands, in order; an op writes them as one expression.
template <int Arity>
struct Adjoints {
  Var of[Arity];
};
template <class... V>
Adjoints(V...) -> Adjoints<sizeof...(V)>;

namespace detail {

/// The number of operands that an op's rule gives adjoints to: more than a node holds are kept in lists (`with_vjp`).
template <class Op>
constexpr int operands_of() {
  if constexpr (requires { Op::operands; }) return Op::operands;
  else return Op::arity;
}

template <class Op, std::size_t... K>
constexpr void call_vjp_of(Var g, const Var* in, Var y, Var* out, std::index_sequence<K...>) {
  using Result = std::conditional_t<sizeof...(K) == 1, Var, Adjoints<static_cast<int>(sizeof...(K))>>;
  constexpr bool fits = requires {
    { Op::vjp(g, in[K]..., y) } -> std::same_as<Result>;
  };
  static_assert(fits, "an op's vjp(Var g, a Var for each operand, Var y) returns Adjoints<arity>, or a Var where arity is 1; "
                      "an op without a derivative declares static constexpr bool differentiable = false;");
  if constexpr (fits) {
    const Result adjoints = Op::vjp(g, in[K]..., y);
    if constexpr (sizeof...(K) == 1) out[0] = adjoints;
    else for (std::size_t i = 0; i < sizeof...(K); ++i) out[i] = adjoints.of[i];
  }
}
/// Every op with operands has a derivative unless it says that it has none.
template <class Op>
concept Differentiable = Op::arity > 0 && !requires { requires !Op::differentiable; };

template <class Op>
constexpr void call_vjp(Var g, const Var* in, Var y, Var* out) {
  if constexpr (Differentiable<Op>) call_vjp_of<Op>(g, in, y, out, std::make_index_sequence<operands_of<Op>()>{});
}

template <class Op, class T>
concept TakesScalars = requires(T x) { Op::apply(x, x, x); } || requires(T x) { Op::apply(x, x); } ||
                       requires(T x) { Op::apply(x); };
template <class Op, class T, class R>
constexpr R call_scalar(T a, T b, T c) {
  if constexpr (requires { Op::apply(a, b, c); }) return static_cast<R>(Op::apply(a, b, c));
  else if constexpr (requires { Op::apply(a, b); }) return static_cast<R>(Op::apply(a, b));
  else if constexpr (requires { Op::apply(a); }) return static_cast<R>(Op::apply(a));
  else return R(a);
}

/// Returns the compiler's description of this function, which ends with the type's name.
template <class T>
constexpr const char* said_of_type() {
  return __PRETTY_FUNCTION__;
}
inline constexpr int before_name = [] {
  int same = 0;
  while (said_of_type<void>()[same] == said_of_type<int>()[same]) ++same;
  return same;
}();

/// Returns a hash of the name that the compiler gives to an op's type.
template <class Op>
constexpr std::uint64_t type_hash() {
  std::uint64_t hash = fnv_begin;
  for (const char* c = said_of_type<Op>() + before_name; *c != 0; ++c) hash = fnv(hash, static_cast<unsigned char>(*c));
  return hash;
}

template <class Op>
constexpr OpInfo describe() {
  OpInfo info{};
  info.id = type_hash<Op>();
  info.name = Op::name;
  info.arity = Op::arity;
  if constexpr (requires { Op::kind; }) info.kind = Op::kind;
  else info.kind = Kind::map;
  info.vjp = &call_vjp<Op>;
  if constexpr (requires { Op::identity; }) info.identity = Op::identity;
  info.f32 = &call_scalar<Op, float, float>;
  info.f64 = &call_scalar<Op, double, double>;
  info.takes_floats = TakesScalars<Op, float>;
  info.takes_doubles = TakesScalars<Op, double>;
  if constexpr (requires { Op::takes_integers; }) {
    info.i32 = &call_scalar<Op, std::int32_t, float>;
    info.takes_integers = true;
  }
  info.costly = requires { requires Op::costly; };
  return info;
}

}  // namespace detail

/// The only description of an op.
template <class Op>
inline constexpr OpInfo op_info = detail::describe<Op>();

template <class Op>
constexpr bool is(const Node& node) {
  return node.op->id == op_info<Op>.id;
}

}  // namespace gradual
