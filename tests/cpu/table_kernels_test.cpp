// Rows of a table and their adjoint, alone and in parts: equal bits to sums written out.
#include <gtest/gtest.h>

#include <gradual/core/cpu/gather.hpp>
#include <gradual/core/cpu/own_rows.hpp>

#include "../expect_window.hpp"

namespace table_kernels_test {

using namespace gradual;
using namespace kernels;

TEST(TableKernels, RowsOfATable) {
  constexpr std::int64_t rows = 5, count = 23;
  for (const std::int64_t width : {1, 3, 16, 17, 50}) {
    const Operand<float> table(numbers<float>(rows * width, 1));
    std::vector<std::int32_t> index;
    std::vector<float> expected;
    for (std::int64_t s = 0; s < count; ++s) {
      index.push_back(static_cast<std::int32_t>(s * 3 % rows));
      for (std::int64_t i = 0; i < width; ++i) expected.push_back(table[index.back() * width + i]);
    }
    for (const int parts : {1, 3}) {
      Memory<float> y(count * width);
      for (int part = 0; part < parts; ++part)
        cpu::gather(table.data(), index.data(), y.data(), count, width, {part, parts});
      EXPECT_TRUE(y.kept_inside());
      EXPECT_EQ(first_difference(y, expected), -1) << "rows of " << width;
    }
  }
}

template <class W = float, class RowOf>
void expect_scatter(std::int64_t rows, std::int64_t width, std::int64_t p, RowOf row_of) {
  const std::int64_t samples = 2 + 300 / p;
  const Operand<float> g(numbers<float>(samples * p * width, 2));
  std::vector<std::int32_t> index;
  for (std::int64_t s = 0; s < samples * p; ++s) index.push_back(static_cast<std::int32_t>(row_of(s)));
  std::vector<W> expected;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < width; ++i)
      expected.push_back(canonical_sum<float, W>(samples * p, p, [&](float chain, std::int64_t s) {
        return index[static_cast<std::size_t>(s)] == r ? chain + g[s * width + i] : chain;
      }));
  expect_window<float>(expected, samples, p, cpu::scatter_workspace(width), "rows of " + std::to_string(width),
                       [&](const cpu::WindowPart<float, W>& window, float* space, cpu::Part part) {
                         cpu::batch_scatter(g.data() + window.begin * width, index.data() + window.begin, rows, width,
                                            p, window, space, part);
                       });
}

TEST(TableKernels, AdjointsOfATable) {
  for (const std::int64_t width : {1, 3, 16, 17, 50})
    for (const std::int64_t p : {1, 3, 128, 150}) {
      expect_scatter(7, width, p, [](std::int64_t s) { return s * s / 3 % 6; });  // the last row is never named
      expect_scatter(400, width, p, [](std::int64_t s) { return s % 400; });      // no row is named twice in a block
      expect_scatter(397, width, p, [](std::int64_t s) { return s * s * 17 % 397; });  // hashed to the same places
      expect_scatter<double>(7, width, p, [](std::int64_t s) { return s * s / 3 % 6; });
    }
}

/// Returns indices of rows, some of which name none.
std::vector<std::int32_t> rows_or_none(std::int64_t count, std::int64_t rows) {
  std::vector<std::int32_t> index;
  for (std::int64_t s = 0; s < count; ++s) index.push_back(s % 7 == 3 ? -1 : static_cast<std::int32_t>(s * s / 3 % rows));
  return index;
}

template <class E>
void expect_own_rows(std::int64_t width, std::int64_t positions) {
  using T = Computed<E>;
  constexpr std::int64_t rows = 5, samples = 4;
  const cpu::OwnRows own{rows, width, positions};
  const auto index = rows_or_none(samples * positions, rows);
  const auto of_type = [](std::int64_t count, unsigned seed) {
    std::vector<E> result;
    for (const T x : numbers<T>(count, seed)) result.push_back(static_cast<E>(x));
    return result;
  };
  const Operand<E> tables(of_type(samples * rows * width, 1)), values(of_type(samples * positions * width, 2));
  std::vector<E> read, sums;
  for (std::int64_t s = 0; s < samples * positions; ++s)
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t row = index[static_cast<std::size_t>(s)];
      read.push_back(row < 0 ? E{} : tables[(s / positions * rows + row) * width + c]);
    }
  for (std::int64_t at = 0; at < samples * rows * width; ++at)
    sums.push_back(static_cast<E>(canonical_sum<T>(positions, positions, [&](T chain, std::int64_t p) {
      const std::int64_t s = at / (rows * width) * positions + p;
      const bool named = index[static_cast<std::size_t>(s)] == at / width % rows;
      return named ? chain + static_cast<T>(values[s * width + at % width]) : chain;
    })));
  for (const int parts : {1, 3}) {
    Memory<E> y(samples * positions * width), z(samples * rows * width);
    for (int part = 0; part < parts; ++part) {
      Memory<T> space(cpu::scatter_own_workspace<E>(own.table(), positions));
      cpu::gather_own(own, tables.data(), index.data(), y.data(), samples, {part, parts});
      cpu::scatter_own(own, values.data(), index.data(), z.data(), samples, space.data(), {part, parts});
      EXPECT_TRUE(space.kept_inside());
    }
    EXPECT_TRUE(y.kept_inside() && z.kept_inside());
    EXPECT_EQ(first_difference(y, read), -1) << width << " columns, " << positions << " positions";
    EXPECT_EQ(first_difference(z, sums), -1) << width << " columns, " << positions << " positions";
  }
}

TEST(TableKernels, RowsOfSamplesOwnTables) {
  for (const std::int64_t width : {1, 3, 16, 17, 50})
    for (const std::int64_t positions : {0, 1, 3, 128, 129, 300}) {
      expect_own_rows<float>(width, positions);
      expect_own_rows<double>(width, positions);
    }
}

TEST(TableKernels, AWindowWithoutSamplesLeavesItsSumsAlone) {
  Memory<float> total(numbers<float>(6, 1)), open(6), space(cpu::scatter_workspace(2));
  cpu::batch_scatter(total.data(), static_cast<const std::int32_t*>(nullptr), 3, 2, 1,
                     {total.data(), open.data(), 0, 0, true, true}, space.data());
  EXPECT_EQ(first_difference(total, numbers<float>(6, 1)), -1);
}

}  // namespace table_kernels_test
