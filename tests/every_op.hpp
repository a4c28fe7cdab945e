#pragma once
// Every op that loops call, in a few nets whose gradients show each op's value and derivatives.
#include <cmath>
#include <vector>

#include <gradual/check/special_values.hpp>

#include "models.hpp"

namespace models {

inline constexpr int every_op_width = 37;  // a full vector or warp of lanes, and a remainder
inline constexpr std::int64_t every_op_samples = 130;

/// Ops First, First + Step, ... of a list. Each op's operands and its value are scaled by parameters of their own, so that
/// the gradients show the op's value and its derivatives, and a NaN of one op does not hide the others.
template <class List, int First = 0, int Step = 1>
struct MapOpsModel {
  Parameter scale[4 * ((List::size - First + Step - 1) / Step)];
  constexpr explicit MapOpsModel(Scope s) {
    each_op(
        [&]<class Op>(int i) {
          for (int k = 0; k < 4; ++k)
            scale[4 * i + k] = (s / Op::name).parameter(names[k], Shape{every_op_width}, init::constant(1));
        },
        List{});
  }
  constexpr Loss loss(Var a, Var b, Var c) const {
    Var total;
    each_op([&]<class Op>(int i) {
      const Var y = scaled<Op>(a, b, c, scale + 4 * i);
      total = total.valid() ? total + y : y;
    }, List{});
    return Loss(sum(total, {-1}));
  }

 private:
  static constexpr const char* names[] = {"a", "b", "c", "value"};
  template <class F, class... Op>
  static constexpr void each_op(F f, OpList<Op...>) {
    int i = 0;
    ((i % Step == First ? f.template operator()<Op>(i / Step) : void(), ++i), ...);
  }
  template <class Op>
  static constexpr Var scaled(Var a, Var b, Var c, const Parameter* by) {
    if constexpr (requires { requires Op::domain.low > 0; }) a = maximum(abs(a), 0x1p-20), b = maximum(abs(b), 0x1p-20);
    a = a * by[0];
    b = b * by[1];
    c = c * by[2];
    Var y;
    if constexpr (Op::arity == 1) y = elementwise<Op>(a);
    else if constexpr (Op::arity == 2) y = elementwise<Op>(a, b);
    else y = elementwise<Op>(a, b, c);
    return y * by[3];
  }
};

/// The reductions over a row, each scaled by a parameter.
struct RowOpsModel {
  Parameter operand, scale[5];
  constexpr explicit RowOpsModel(Scope s)
      : operand(s.parameter("operand", Shape{every_op_width}, init::constant(1))),
        scale{s.parameter("sum", Shape{1}, init::constant(1)), s.parameter("max", Shape{1}, init::constant(1)),
              s.parameter("min", Shape{1}, init::constant(1)), s.parameter("argmax", Shape{1}, init::constant(1)),
              s.parameter("prod", Shape{1}, init::constant(1))} {}
  constexpr Loss loss(Var a, Var b, Var c) const {
    const Var by = operand.on(a);
    a = a * by;
    const Var equal = where(argmax(a) == argmax(b), sum(a, {-1}), sum(b, {-1}));
    const Var factors = where(c == 0.0, by - 1.0, 1.0 + 0.5 * tanh(a));  // in some rows, one is 0
    const Var rows[] = {sum(a * b, {-1}), max(a, {-1}), min(a, {-1}), equal, prod(factors, {-1})};
    Var total;
    for (int i = 0; i < 5; ++i) {
      const Var row = reshape(rows[i], Shape::per_sample(Shape{1})) * scale[i];
      total = total.valid() ? total + row : row;
    }
    return Loss(sum(total, {-1}));
  }
};

template <class Model, class Where = Cpu>
using EveryOpNet = Compiled<Model, Inputs<f32[every_op_width], f32[every_op_width], f32[every_op_width]>, Where>;

using Values = std::vector<std::vector<float>>;

/// Numbers, ties, zeros, and numbers up to `largest` in magnitude, whose exponentials can overflow or underflow.
inline Values every_op_operands(float largest) {
  Values data;
  for (unsigned k = 0; k < 3; ++k) data.push_back(numbers(every_op_samples * every_op_width, k + 1));
  for (std::size_t i = 0; i < data[0].size(); ++i) {
    for (auto& v : data) v[i] *= 4;
    if (i % 11 == 3) data[1][i] = data[0][i];
    if (i % 13 == 5) data[i % 3][i] = i % 2 ? 0.0f : -0.0f;
    if (i % 17 == 7) data[i % 3][i] *= largest / 4;
  }
  return data;
}

/// One sample of ones; special values come as parameters, since inputs that are not finite are refused.
inline const Values every_op_ones(3, std::vector<float>(every_op_width, 1));

/// Parameters that evaluate every map op at every special place.
template <class Model>
std::vector<Values> special_scales() {
  const auto places = op_checks::special_places<float>(3);
  std::vector<Values> all;
  for (std::size_t first = 0; first < places.size(); first += every_op_width) {
    all.emplace_back(EveryOpNet<Model>::parameter_count, std::vector<float>(every_op_width, 1));
    for (std::size_t p = 0; p < all.back().size(); ++p)
      for (std::size_t i = 0; p % 4 < 3 && i < every_op_width; ++i) all.back()[p][i] = places[(first + i) % places.size()][p % 4];
  }
  return all;
}

/// Parameters of `RowOpsModel`: rows of ones with two special values, one within a vector or warp of lanes and one in the
/// remainder.
inline std::vector<Values> special_rows() {
  std::vector<Values> all;
  for (const auto& [within, rest, unused] : op_checks::special_places<float>(2)) {
    std::vector<float> row(every_op_width, 1);
    row[all.size() % 32] = within, row.back() = rest;
    all.push_back({row, {1}, {1}, {1}, {1}, {1}});
  }
  return all;
}

inline bool equal_or_nan(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
}

}  // namespace models
