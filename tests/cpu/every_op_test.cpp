// Each map op and row reduction, forward and backward, in a fused kernel against the reference: equal bits.
#include <gtest/gtest.h>

#include <cmath>

#include <gradual/autodiff/reference.hpp>
#include <gradual/check/special_values.hpp>

#include "../../examples/03-own-op/mish.hpp"
#include "../models.hpp"

using namespace models;

namespace {

constexpr int width = 37;  // a whole vector of lanes and a rest
constexpr std::int64_t samples = 130;

/// The sum of one op over the row, its operands shifted by parameters so that all gradients are wanted; by −0, which
/// changes no bit, unless said otherwise.
template <class Op>
struct MapModel {
  Parameter shift[3];
  constexpr explicit MapModel(Scope s)
      : shift{s.parameter("a", Shape{width}, init::constant(-0.0)), s.parameter("b", Shape{width}, init::constant(-0.0)),
              s.parameter("c", Shape{width}, init::constant(-0.0))} {}
  constexpr Loss loss(Var a, Var b, Var c) const {
    a = a + shift[0].on(a);
    b = b + shift[1].on(b);
    c = c + shift[2].on(c);
    Var y;
    if constexpr (Op::arity == 1) y = elementwise<Op>(a);
    else if constexpr (Op::arity == 2) y = elementwise<Op>(a, b);
    else y = elementwise<Op>(a, b, c);
    return Loss(sum(y, {-1}));
  }
};

template <class Op>
struct RowModel {
  Parameter shift;
  constexpr explicit RowModel(Scope s) : shift(s.parameter("a", Shape{width}, init::constant(-0.0))) {}
  constexpr Loss loss(Var a, Var, Var) const {
    a = a + shift.on(a);
    return Loss(reduce_axes<Op>(a, axes, 1, false, a.dtype()));
  }
  static constexpr int axes[] = {-1};
};

bool same(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b); }

template <class Model>
void expect_equal_bits(const char* name, const std::vector<std::vector<float>>& data, std::vector<std::vector<float>> shifts = {}) {
  using Net = Compiled<Model, Inputs<f32[width], f32[width], f32[width]>>;
  const auto count = static_cast<std::int64_t>(data[0].size()) / width;
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = 10 * samples, .micro_batch = samples});
  shifts.resize(Net::parameter_count, std::vector<float>(width, -0.0f));
  for (int p = 0; p < Net::parameter_count; ++p)
    std::ranges::copy(shifts[static_cast<std::size_t>(p)], session.parameters()[p].values.begin());
  session.accumulate(std::span(data[0]), std::span(data[1]), std::span(data[2]));
  const Tape tape = thaw(Net::Training::graph);
  const Reference<float> reference(tape, count, data, shifts);
  session.flush();
  for (int p = 0; p < Net::parameter_count; ++p)
    for (std::size_t i = 0; i < width; ++i) {
      const float expected = reference.root(Role::gradient, p)[i];
      const float got = session.accumulator()[static_cast<std::size_t>(Net::parameter_offset(p)) + i];
      ASSERT_TRUE(same(expected, got)) << name << ", operand " << p << "[" << i << "]: " << expected << " against " << got;
    }
  double loss = 0;
  for (float l : reference.root(Role::loss)) loss += static_cast<double>(l);
  EXPECT_TRUE(same(static_cast<float>(session.last_window().loss()), static_cast<float>(loss / static_cast<double>(count)))) << name;
}

template <class Op>
class EveryMapOp : public testing::Test {};
template <class... Op>
testing::Types<Op...> types_of(OpList<Op...>);
using MapTypes = decltype(types_of(MapOps{}));
TYPED_TEST_SUITE(EveryMapOp, MapTypes);

/// Numbers, ties, zeros and what overflows or underflows in exponentials.
std::vector<std::vector<float>> operands(float largest) {
  std::vector<std::vector<float>> data;
  for (unsigned k = 0; k < 3; ++k) data.push_back(numbers(samples * width, k + 1));
  for (std::size_t i = 0; i < data[0].size(); ++i) {
    for (auto& v : data) v[i] *= 4;
    if (i % 11 == 3) data[1][i] = data[0][i];
    if (i % 13 == 5) data[i % 3][i] = i % 2 ? 0.0f : -0.0f;
    if (i % 17 == 7) data[i % 3][i] *= largest / 4;
  }
  return data;
}

TYPED_TEST(EveryMapOp, HasTheBitsOfTheReference) {
  for (float largest : {4.0f, 200.0f}) {
    auto data = operands(largest);
    if constexpr (requires { requires TypeParam::domain.low > 0; })  // NaN in one element would hide the others
      for (auto& v : data)
        for (float& x : v) x = std::abs(x) + 0x1p-20f;
    expect_equal_bits<MapModel<TypeParam>>(TypeParam::name, data);
  }
}

TYPED_TEST(EveryMapOp, HasTheBitsOfTheReferenceAtSpecialValues) {  // by the shifts: inputs that are not finite are refused
  const std::vector<std::vector<float>> one(3, std::vector<float>(width, -0.0f));
  const auto places = check::special_places<float>(TypeParam::arity);
  for (std::size_t first = 0; first < places.size(); first += width) {
    auto shifts = one;
    for (std::size_t i = 0; i < width; ++i)
      for (std::size_t k = 0; k < 3; ++k) shifts[k][i] = places[(first + i) % places.size()][k];
    expect_equal_bits<MapModel<TypeParam>>(TypeParam::name, one, shifts);
  }
}

struct OwnOpModel : MapModel<Mish> {
  using MapModel::MapModel;
  using Ops = OpList<Mish>;
};

TEST(OwnOp, HasTheBitsOfTheReference) { expect_equal_bits<OwnOpModel>("mish", operands(4)); }

TEST(EveryRowOp, HasTheBitsOfTheReference) {
  for (float largest : {4.0f, 200.0f}) {
    expect_equal_bits<RowModel<Sum>>("sum", operands(largest));
    expect_equal_bits<RowModel<Max>>("max", operands(largest));
    expect_equal_bits<RowModel<Min>>("min", operands(largest));
  }
  auto factors = operands(1);
  for (std::size_t i = 0; i < factors[0].size(); ++i)
    factors[0][i] = i % 41 == 0 ? 0.0f : std::copysign(1 + factors[0][i] / 16, factors[0][i]);
  expect_equal_bits<RowModel<Prod>>("prod", factors);
}

}  // namespace
