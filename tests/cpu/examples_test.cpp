// The examples' models that no other test trains both ways: splits, eager and compiled give equal bits.
#include <gtest/gtest.h>

#include "../../examples/02-regression/model.hpp"
#include "../../examples/03-own-op/model.hpp"
#include "../../examples/08-gan/models.hpp"
#include "../both_ways.hpp"

namespace examples_test {

using namespace both_ways;

template <class Net, class Model, class... T>
void expect_equal_bits(const Samples<T>&... data) {
  const std::vector<float> whole = train_compiled<Net>({60}, 1, data...);
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 1, data...));
  EXPECT_EQ(whole, (train_eager<Model>({13, 21}, data...)));
}

const Samples<float> images{numbers(samples * 64), {64}}, target{numbers(samples, 3), {1}};

TEST(Examples, Regression) { expect_equal_bits<regression::Net, regression::Regression>(images, target); }

TEST(Examples, OwnOp) {
  const Samples<float> points{numbers(samples * 2), {2}};
  const Samples<std::int32_t> arms{labels(samples, 2), {}};
  expect_equal_bits<Compiled<spirals::Spirals, Inputs<f32[2], i32>>, spirals::Spirals>(points, arms);
}

TEST(Examples, Gan) {
  expect_equal_bits<gan::JudgeNet, gan::Judge>(images, target);
  expect_equal_bits<gan::ForgerNet, gan::Forger>(Samples<float>{numbers(samples * gan::noise), {gan::noise}});
}

}  // namespace examples_test
