#pragma once
#include <bit>
#include <cstdint>

namespace gradual {

struct Var;

/// How an op is executed; everything else about it is in its own file under ops/.
enum class Kind : unsigned char {
  input,      ///< a value supplied by the caller: samples, parameters, scalars
  constant,   ///< one number, at any shape
  iota,       ///< the index along one axis
  random,     ///< random numbers, determined by the op's number, `Randomness` and the element
  map,        ///< one scalar functor, applied to operands of one shape
  broadcast,  ///< repeats its operand along axes of extent 1 or missing leading axes
  reshape,    ///< the same elements under other extents
  transpose,  ///< permuted axes
  slice,      ///< consecutive elements along one axis
  pad,        ///< its operand extended along one axis; the added elements hold one number
  uses,       ///< for each sample the rows of one value, then those of another; read by sums over the batch
  row_reduce,     ///< reduces trailing axes within one sample: 32 lanes, then a tree
  batch_reduce,   ///< reduces the leading axes, which hold the batch: blocks of 128
  contract,       ///< a matrix product
  batch_contract,  ///< a matrix product over the rows of the batch: a weight gradient
  convolve,        ///< convolves images with a kernel
  batch_convolve,  ///< sums over the images of the batch: the gradient of a kernel
  pool,            ///< pools windows of images
  gather,          ///< rows of a table by index
  gather_own,      ///< rows of each sample's own table by index
  scatter_own,     ///< adds rows into each sample's own table
  batch_scatter    ///< sums over the indices of the batch: the gradient of a table
};

/// Whether an op is a kernel of its own, which reads its operands from memory.
constexpr bool stands_alone(Kind kind) {
  return kind == Kind::contract || kind == Kind::batch_contract || kind == Kind::convolve ||
         kind == Kind::batch_convolve || kind == Kind::pool || kind == Kind::gather || kind == Kind::gather_own ||
         kind == Kind::scatter_own || kind == Kind::batch_scatter;
}
/// Whether an op combines samples: it sums over a window, in blocks.
constexpr bool is_sample_sum(Kind kind) {
  return kind == Kind::batch_reduce || kind == Kind::batch_contract || kind == Kind::batch_convolve ||
         kind == Kind::batch_scatter;
}

/// Numbers that belong to one recorded op: a constant's value, an axis, a transposition.
struct Attributes {
  double number = 0;
  std::int64_t integer[2]{};
  /// Compares bit for bit: -0 differs from 0, and NaN equals itself.
  constexpr bool operator==(const Attributes& other) const {
    return integer[0] == other.integer[0] && integer[1] == other.integer[1] &&
           std::bit_cast<std::uint64_t>(number) == std::bit_cast<std::uint64_t>(other.number);
  }
};

/// Where an op is differentiable: the range from which checks of its derivative draw operands, what they avoid, and how exact
/// values in float are there.
/// Every op with a derivative rule and a scalar functor states one. Where shapes matter, an op has `sweep(check)` instead: the
/// calls that checks of its derivative make. An op that only derivative rules record names the op of such a rule as its
/// `AdjointOf`.
struct Domain {
  double low, high;
  bool kink_at_zero = false;  ///< no operand may be within 0.3 of 0
  bool kink_at_ties = false;  ///< no two operands may be within 0.01 of each other
  double ulp = 3;             ///< units in the last place by which a float may differ from the value in double
};

/// The value and gradients of an op at one point where formulas break or systems differ: a kink, a singularity, an infinity.
/// Gradients are for an adjoint of 1. Rows hold for every type: `least`, `most` and `after_one` are the type's own.
/// Every op with a scalar functor states some, also for its kinks. Where no row says otherwise, NaN in any operand gives NaN.
struct Special {
  double at[3], value, gradient[3]{};
};
namespace special {
inline constexpr double inf = __builtin_huge_val(), nan = __builtin_nan(""), pi = 3.141592653589793;
inline constexpr double least = 0x1p-1074;              ///< the smallest positive number
inline constexpr double most = 0x1.fffffffffffffp1023;  ///< the largest finite one
inline constexpr double after_one = 1 + 0x1p-52;        ///< the next number after 1
}  // namespace special

/// What the engine knows about an op; `describe` makes it from the op's own struct.
struct OpInfo {
  std::uint64_t id;  ///< the op's identity: a hash of its type's name (addresses are not constants under UBSan)
  const char* name;
  int arity;
  Kind kind;
  /// Writes the adjoints of `in` into `out`; an invalid Var stands for zero.
  void (*vjp)(Var g, const Var* in, Var y, Var* out);
  /// The scalar functor, for the reference and where an op has no loops: operands of one type, unused ones ignored.
  float (*f32)(float, float, float);
  double (*f64)(double, double, double);
  float (*i32)(std::int32_t, std::int32_t, std::int32_t);
  bool takes_integers;  ///< most do not; a flag, since under UBSan no constant expression may test a function for null
  bool takes_floats, takes_doubles;  ///< whether `apply` does; if not, the functor returns its first operand
  bool costly;          ///< an approximation, such as tanh, rather than a few instructions
  /// The value that reductions start from.
  double identity;
};

/// Applies an op's scalar functor to floats or doubles.
template <class T>
constexpr T apply_scalar(const OpInfo& op, T a, T b, T c) {
  if constexpr (sizeof(T) == 4) return op.f32(a, b, c);
  else return op.f64(a, b, c);
}

}  // namespace gradual
