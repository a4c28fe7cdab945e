#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include <gradual/autodiff/backward.hpp>
#include <gradual/check/eager_bits.hpp>
#include <gradual/check/function.hpp>
#include <gradual/core/number_text.hpp>

namespace gradual::op_checks {

/// Returns whether an op declares its values at special places, including its kinks.
template <class Op>
constexpr bool says_special_values() {
  if constexpr (requires { Op::specials; }) {
    bool at_zero = false, at_ties = false;
    for (const Special& row : Op::specials)
      for (int k = 0; k < Op::arity; ++k) {
        at_zero = at_zero || row.at[k] == 0;
        for (int other = 0; other < k; ++other) at_ties = at_ties || row.at[k] == row.at[other];
      }
    if constexpr (requires { Op::domain; })
      return (at_zero || !Op::domain.kink_at_zero) && (at_ties || !Op::domain.kink_at_ties);
    return true;
  }
  return false;
}

/// Returns every combination of zeros, neighbours of 1, the smallest and largest numbers, infinities and NaN, for `arity`
/// operands.
template <class T>
std::vector<std::array<T, 3>> special_places(int arity) {
  using Limits = std::numeric_limits<T>;
  std::vector<std::array<T, 3>> result(1);
  for (int operand = 0; operand < arity; ++operand) {
    std::vector<std::array<T, 3>> longer;
    for (std::array<T, 3> place : result)
      for (const T x : {T(0), Limits::denorm_min(), Limits::min(), 1 - Limits::epsilon() / 2, T(1),
                        1 + Limits::epsilon(), Limits::max(), Limits::infinity(), Limits::quiet_NaN()})
        for (const T signed_x : {x, -x}) {
          place[static_cast<std::size_t>(operand)] = signed_x;
          longer.push_back(place);
        }
    result = std::move(longer);
  }
  return result;
}

/// The values of an op at some places and, with one adjoint for all of them, its gradients there.
template <class T>
struct AtPlaces {
  std::vector<T> value;
  std::vector<std::vector<T>> gradient;  ///< by operand
};

/// Compares an op with its rows of special values, in T, to 4 units in the last place. At these and all special places expects
/// the bits of the reference when run eagerly; NaN where an operand is NaN; and gradients of 0 where the adjoint is 0 and
/// operands are finite, even if the derivative is infinite.
template <class T>
class SpecialValuesCheck {
 public:
  int places = 0;
  std::vector<std::string> mistakes;  ///< one line each

  template <class Op>
  void run() {
    static_assert(says_special_values<Op>(), "an op without rows of special values, or without one for its kink");
    constexpr bool partial = requires { Op::partial; };
    run(Op::name, apply_op<Op>, Op::arity, Op::specials, partial);
  }
  /// `partial`: the op is undefined at some operands; gradients for an adjoint of 0 are not checked.
  void run(const char* name, const Function& op, int arity, std::span<const Special> rows, bool partial = false) {
    name_ = name;
    arity_ = static_cast<std::size_t>(arity);
    std::vector<Place> at;
    for (const Special& row : rows) at.push_back({number(row.at[0]), number(row.at[1]), number(row.at[2])});
    for (std::size_t k = 0; k < arity_; ++k) {
      at.push_back({2, 2, 2});
      at.back()[k] = number(special::nan);
    }
    for (const Place& place : special_places<T>(arity)) at.push_back(place);
    places += static_cast<int>(at.size());

    const AtPlaces<T> ones = evaluate(op, at, 1), zeros = evaluate(op, at, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (const double expected = rows[i].value;
          !near(ones.value[i], expected) || sign_differs(ones.value[i], expected))
        note(at[i], "is", ones.value[i], rows[i].value);
      for (std::size_t k = 0; k < arity_; ++k)
        if (!near(ones.gradient[k][i], rows[i].gradient[k]))
          note(at[i], "has a gradient of", ones.gradient[k][i], rows[i].gradient[k]);
    }
    for (std::size_t i = rows.size(); i < rows.size() + arity_; ++i) {
      const auto same = [&](const Place& other) {
        for (std::size_t k = 0; k < arity_; ++k)
          if (at[i][k] != other[k] && at[i][k] == at[i][k]) return false;
        return true;
      };
      if (ones.value[i] == ones.value[i] &&
          std::none_of(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(rows.size()), same))
        note(at[i], "is", ones.value[i], special::nan);
    }
    for (std::size_t i = 0; i < at.size(); ++i)
      for (std::size_t k = 0; k < arity_; ++k)
        if (!partial && all_finite(at[i]) && ones.gradient[k][i] == ones.gradient[k][i] && zeros.gradient[k][i] != 0)
          note(at[i], "gives an adjoint of 0 a gradient of", zeros.gradient[k][i], 0);
  }

 private:
  using Limits = std::numeric_limits<T>;
  using Place = std::array<T, 3>;

  /// Returns the value in T of a number in a row.
  static T number(double x) {
    const T sign = std::signbit(x) ? T(-1) : T(1);
    if (std::abs(x) == special::least) return sign * Limits::denorm_min();
    if (std::abs(x) == special::most) return sign * Limits::max();
    if (std::abs(x) == special::after_one) return sign * (1 + Limits::epsilon());
    return static_cast<T>(x);
  }
  static bool near(T got, double expected) {
    const T wanted = number(expected);
    return got == wanted || (got != got && wanted != wanted) ||
           (std::isfinite(wanted) && std::abs(got - wanted) <= 4 * Limits::epsilon() * std::abs(wanted));
  }
  static bool sign_differs(T got, double expected) { return got == got && std::signbit(got) != std::signbit(expected); }
  bool all_finite(const Place& place) const {
    bool finite = true;
    for (std::size_t k = 0; k < arity_; ++k) finite = finite && std::isfinite(place[k]);
    return finite;
  }

  AtPlaces<T> evaluate(const Function& op, const std::vector<Place>& at, T adjoint_of_all) {
    Tape tape;
    const Shape shape{static_cast<std::int64_t>(at.size())};
    std::vector<Var> in;
    std::vector<std::vector<T>> samples;
    std::vector<int> targets;
    for (std::size_t k = 0; k < arity_; ++k) {
      in.push_back(input(tape, shape, dtype_of<T>));
      targets.push_back(in.back().id);
      for (samples.emplace_back(); const Place& place : at) samples.back().push_back(place[k]);
    }
    const Var y = op(in), g = input(tape, shape, dtype_of<T>);
    samples.emplace_back(at.size(), adjoint_of_all);
    const std::vector<Var> adjoint = backward(y, g, targets);
    const Reference<T> reference(tape, 1, samples, {});
    if (const std::string wrong = difference_when_eager(tape, 1, samples, reference); !wrong.empty())
      mistakes.push_back(std::string(name_) + " at special values, eager: bits differ from the reference in " + wrong);
    AtPlaces<T> result{reference[y.id], {}};
    for (int id : targets) {
      const Var of = static_cast<std::size_t>(id) < adjoint.size() ? adjoint[static_cast<std::size_t>(id)] : Var{};
      result.gradient.push_back(of.valid() ? reference[of.id] : std::vector<T>(at.size()));
    }
    return result;
  }

  void note(const Place& place, const char* what, T got, double expected) {
    std::string text = std::string(name_) + " of " + name_of(dtype_of<T>) + " at (";
    for (std::size_t k = 0; k < arity_; ++k) text += (k > 0 ? ", " : "") + text_of(place[k]);
    mistakes.push_back(text + ") " + what + " " + text_of(got) + ", not " + text_of(number(expected)));
  }
  static std::string text_of(T x) { return detail::brief_text(static_cast<double>(x), 9); }

  const char* name_ = "";
  std::size_t arity_ = 0;
};

}  // namespace gradual::op_checks
