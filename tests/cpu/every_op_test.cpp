// Each map op and row reduction, forward and backward, in fused kernels against the reference: equal bits.
#include <gtest/gtest.h>

#include <gradual/autodiff/reference.hpp>

#include "../../examples/03-own-op/mish.hpp"
#include "../every_op.hpp"

namespace every_op_test {

using namespace models;

/// Compares the gradients of the samples `data` for these parameters, or, if there are none, for the initial ones. Returns
/// the fraction of gradients that are not NaN.
template <class Model>
double expect_equal_bits(const Values& data, Values parameters = {}) {
  using Net = EveryOpNet<Model>;
  const auto count = static_cast<std::int64_t>(data[0].size()) / every_op_width;
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = 10 * every_op_samples, .micro_batch = every_op_samples});
  const bool given = !parameters.empty();
  for (int p = 0; p < Net::parameter_count; ++p) {
    const auto values = session.parameters()[p].values;
    if (given) std::ranges::copy(parameters[static_cast<std::size_t>(p)], values.begin());
    else parameters.emplace_back(values.begin(), values.end());
  }
  session.accumulate(std::span(data[0]), std::span(data[1]), std::span(data[2]));
  const Tape tape = thaw(Net::Training::graph);
  const Reference<float> reference(tape, count, data, parameters);
  session.flush();
  std::size_t numbers = 0;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const auto expected = reference.root(Role::gradient, p);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const float got = session.accumulator()[static_cast<std::size_t>(Net::parameter_offset(p)) + i];
      EXPECT_TRUE(equal_or_nan(expected[i], got))
          << Net::parameter(p).name.view() << "[" << i << "]: " << expected[i] << " against " << got;
      numbers += got == got;
    }
  }
  double loss = 0;
  for (float l : reference.root(Role::loss)) loss += static_cast<double>(l);
  EXPECT_TRUE(
      equal_or_nan(static_cast<float>(session.last_window().loss()), static_cast<float>(loss / static_cast<double>(count))));
  return static_cast<double>(numbers) / static_cast<double>(Net::parameter_elements);
}

constexpr int parts = 4;
template <class Part>
struct EveryMapOp : testing::Test {
  using Model = MapOpsModel<MapOps, Part::value, parts>;
};
template <int Part>
using Of = std::integral_constant<int, Part>;
using Parts = testing::Types<Of<0>, Of<1>, Of<2>, Of<3>>;
TYPED_TEST_SUITE(EveryMapOp, Parts);

TYPED_TEST(EveryMapOp, HasTheBitsOfTheReference) {
  for (float largest : {4.0f, 200.0f})
    EXPECT_GT(expect_equal_bits<typename TestFixture::Model>(every_op_operands(largest)), 0.5);
}

TYPED_TEST(EveryMapOp, HasTheBitsOfTheReferenceAtSpecialValues) {
  double numbers = 0, rounds = 0;
  for (const Values& scales : special_scales<typename TestFixture::Model>())
    numbers += expect_equal_bits<typename TestFixture::Model>(every_op_ones, scales), ++rounds;
  EXPECT_GT(numbers / rounds, 0.5);
}

struct OwnOpModel : MapOpsModel<OpList<Mish>> {
  using MapOpsModel::MapOpsModel;
  using Ops = OpList<Mish>;
};

TEST(OwnOp, HasTheBitsOfTheReference) { EXPECT_EQ(expect_equal_bits<OwnOpModel>(every_op_operands(4)), 1); }

TEST(EveryRowOp, HasTheBitsOfTheReference) {
  for (float largest : {4.0f, 200.0f}) EXPECT_GT(expect_equal_bits<RowOpsModel>(every_op_operands(largest)), 0.5);
}

TEST(EveryRowOp, HasTheBitsOfTheReferenceAtSpecialValues) {
  double numbers = 0, rounds = 0;
  for (const Values& row : special_rows()) numbers += expect_equal_bits<RowOpsModel>(every_op_ones, row), ++rounds;
  EXPECT_GT(numbers / rounds, 0.5);
}

}  // namespace every_op_test
