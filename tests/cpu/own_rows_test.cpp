// Rows of each sample's own table, read and added up: the same bits compiled and eagerly, however a window is split; the sums
// that products with ones and zeros give; indices that name no row.
#include <gtest/gtest.h>

#include <limits>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace own_rows_test {

using namespace both_ways;

TEST(OwnRows, LearnTheSameBitsBothWays) {
  const Samples<float> x{numbers(samples * 15), Shape{5, 3}}, y{numbers(samples * 2, 2), Shape{2}};
  const Samples<std::int32_t> ends{edges(samples), Shape{2, 140}};
  const auto whole = train_compiled<EdgesNet<float>>({60}, 1, x, ends, y);
  EXPECT_EQ(whole, train_compiled<EdgesNet<float>>({13, 21}, 1, x, ends, y));
  EXPECT_EQ(whole, train_compiled<EdgesNet<float>>({60}, 3, x, ends, y));
  EXPECT_EQ(whole, train_eager<Edges>({60}, x, ends, y));
  EXPECT_EQ(whole, train_eager<Edges>({13, 21}, x, ends, y));
}

TEST(OwnRows, AreWhatProductsWithOnesAndZerosGive) {
  const auto values = numbers_in<double>(3 * 4 * 2);
  const std::vector<std::int32_t> named{0, 3, -1, 3, 3, 2, 1, -1, 0, 0, 0, 0, -1, -1, -1};
  ParametersIn<double> parameters(Device::cpu());
  parameters.initialize(0);
  EagerTape tape(parameters, 3);
  const Var table = tape.input(values, {4, 2}), index = tape.input(named, {5}), ones = one_hot(index, 4, -1);
  const Var read = gather(table, index, -1), product = matmul(ones, table);
  const auto same = [](Var a, Var b) { return std::ranges::equal(value(a).values<double>(), value(b).values<double>()); };
  EXPECT_TRUE(same(read, product));
  EXPECT_TRUE(same(scatter_add(read, index, 4, -1), matmul(ones, product, true)));
  EXPECT_TRUE(same(gradients(square(read), {table})[0], gradients(square(product), {table})[0]));
}

TEST(OwnRows, OfNoIndexDoNotMatter) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  EagerTape tape(Device::cpu());
  const std::vector<float> values{1, inf, 3};
  const std::vector<std::int32_t> named{2, 0};
  const Var table = tape.input(values, {3, 1}), index = tape.input(named, {2});
  EXPECT_TRUE(std::ranges::equal(value(gather(table, index)).values<float>(), std::vector<float>{3, 1}));
}

TEST(OwnRows, BeyondATableAreRefusedBeforeAnythingIsLearned) {
  const auto x = numbers(4 * 15), y = numbers(4 * 2, 2);
  auto ends = edges(4);
  ends[2 * 280 + 140 + 7] = 5;
  Session session(EdgesNet<float>{}, optimizer, {.global_batch = 4});
  const std::vector<float> before(session.parameters().values().begin(), session.parameters().values().end());
  const char* const wrong = "input 1, sample 2: index 147 is 5, outside the 5 places 0 to 4 and not the ignored -1";
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate(x, ends, y); }), wrong);
  EXPECT_TRUE(std::ranges::equal(before, session.parameters().values()));

  Parameters parameters(Device::cpu());
  const Edges net(parameters.root());
  Session eager(parameters, optimizer, {.global_batch = 4});
  EXPECT_EQ(error_of<DataError>([&] {
              eager.accumulate(4, [&](EagerTape& tape) {
                const Var in = tape.input(x, {5, 3}), along = tape.input(ends, {2, 140}), known = tape.input(y, {2});
                return net.loss(in, along, known);
              });
            }),
            wrong);
}

}  // namespace own_rows_test
