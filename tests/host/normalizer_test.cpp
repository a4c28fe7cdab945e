// Columns of mean 0 and deviation 1: against values worked out by hand, at the limits of float, and through a file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include <gradual/data/normalizer.hpp>

#include "../error_of.hpp"

namespace normalizer_test {

using namespace gradual;

using Floats = std::vector<float>;

TEST(Normalizer, MeasuresEachColumn) {
  const Floats table{1, 10, 3, 30, 5, 50, 7, 70};  // columns 1 3 5 7 and 10 30 50 70: deviations √5 and 10√5
  const Normalizer normalizer = Normalizer::fit(table, 2);
  EXPECT_EQ(normalizer.mean(), (Floats{4, 40}));
  EXPECT_EQ(normalizer.deviation(), (Floats{std::sqrt(5.0f), static_cast<float>(std::sqrt(500.0))}));
  Floats applied = table;
  normalizer.apply(applied);
  const auto expected = static_cast<float>(-3 / static_cast<double>(std::sqrt(5.0f)));
  EXPECT_EQ(applied[0], expected);
  EXPECT_EQ(applied[6], -expected);
  EXPECT_NEAR(applied[3], -1 / std::sqrt(5.0), 1e-7);
}

TEST(Normalizer, AColumnOfEqualValuesBecomesZeros) {
  for (const std::size_t rows : {1u, 3u, 7u, 1000u}) {
    Floats table(rows, 0.1f);
    const Normalizer normalizer = Normalizer::fit(table, 1);
    EXPECT_EQ(normalizer.deviation(), Floats{1}) << rows;
    normalizer.apply(table);
    EXPECT_EQ(std::ranges::count(table, 0.0f), static_cast<std::ptrdiff_t>(rows));
  }
}

TEST(Normalizer, HoldsAtTheEdgesOfFloat) {
  const float most = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  Floats wide{-most, most};
  const Normalizer of_wide = Normalizer::fit(wide, 1);
  of_wide.apply(wide);
  EXPECT_EQ(wide, (Floats{-1, 1}));
  Floats skewed{-most, -most, most};  // the distance of the last from the mean overflows float
  Normalizer::fit(skewed, 1).apply(skewed);
  EXPECT_FLOAT_EQ(skewed[2], std::sqrt(2.0f));
  EXPECT_EQ(Normalizer::fit(Floats{0, least}, 1).deviation(), Floats{1});  // half of the smallest float rounds to 0
}

TEST(Normalizer, MeasuresDoubles) {
  std::vector<double> table(999, 0.1);  // their sum is rounded
  EXPECT_EQ(NormalizerIn<double>::fit(table, 1).deviation(), std::vector<double>{1});
  table = {1e8 + 0.1, 1e8 + 0.3};
  const auto normalizer = NormalizerIn<double>::fit(table, 1);
  Checkpoint file;
  normalizer.store(file, "input");
  Normalizer({2}, {4}).store(file, "target");
  EXPECT_EQ(NormalizerIn<double>::from(file, "input").mean(), normalizer.mean());
  EXPECT_EQ(NormalizerIn<double>::from(file, "target").deviation(), std::vector<double>{4});
  EXPECT_EQ(error_of<FileError>([&] { Normalizer::from(file, "input"); }), "tensor 'input/mean' is of double, not of float");
  normalizer.apply(table);
  EXPECT_NEAR(table[0], -1, 1e-6);
  normalizer.undo(table);
  EXPECT_EQ(table[1], 1e8 + 0.3);
}

TEST(Normalizer, KeepsSmallDifferencesOfLargeValues) {
  // One pass over squares would lose the variance altogether: 1e8² needs more digits than double has.
  Floats table;
  for (int i = 0; i < 1000; ++i) table.push_back(i % 2 == 0 ? 1e8f : 1e8f + 16);
  EXPECT_EQ(Normalizer::fit(table, 1).deviation(), Floats{8});
}

TEST(Normalizer, RefusesWhatItCannotMeasure) {
  const Floats five(5, 1.0f);
  EXPECT_EQ(error_of<DataError>([&] { Normalizer::fit(five, 2); }), "normalizer: 5 values are not rows of 2");
  EXPECT_EQ(error_of<DataError>([&] { Normalizer::fit({}, 2); }), "normalizer: no rows to measure");
  EXPECT_EQ(error_of<OptionError>([&] { Normalizer::fit(five, 0); }), "normalizer: 0 columns");
  EXPECT_EQ(error_of<DataError>([] { Normalizer::fit(Floats{1, 2, 3, INFINITY}, 2); }),
            "normalizer, row 1, column 1: a value that is not finite");
  EXPECT_THROW(Normalizer::fit(Floats{NAN}, 1), DataError);
  EXPECT_EQ(error_of<DataError>([] { Normalizer({1, 2}, {1}); }), "normalizer: 2 means and 1 deviations");
  EXPECT_THROW(Normalizer({}, {}), DataError);
  for (const float bad : {0.0f, -1.0f, NAN, INFINITY}) EXPECT_THROW(Normalizer({1}, {bad}), DataError) << bad;
  EXPECT_THROW(Normalizer({NAN}, {1}), DataError);
}

TEST(Normalizer, ARefusedTableIsUnchanged) {
  Floats table{1, 2, 3};
  EXPECT_THROW(Normalizer({0, 0}, {2, 2}).apply(table), DataError);
  EXPECT_EQ(table, (Floats{1, 2, 3}));
}

TEST(Normalizer, GivesTheSameBitsAfterAFile) {
  Floats table;
  for (int i = 0; i < 300; ++i) table.push_back(std::sin(static_cast<float>(i)) * 1000 + static_cast<float>(i % 3));
  const Normalizer fitted = Normalizer::fit(table, 3);
  const auto folder = std::filesystem::temp_directory_path();
  const std::string file = (folder / ("gradual_normalizer_" + std::to_string(::getpid()))).string();
  Checkpoint written;
  fitted.store(written, "input");
  EXPECT_EQ(error_of<FileError>([&] { fitted.store(written, "input"); }), "the file already has a tensor 'input/mean'");
  save(file, written);
  const Checkpoint read = load(file);
  std::filesystem::remove(file);
  EXPECT_EQ(read.tensor("input/deviation").shape, std::vector<std::int64_t>{3});
  const Normalizer restored = Normalizer::from(read, "input");
  Floats a = table, b = table;
  fitted.apply(a);
  restored.apply(b);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
  EXPECT_EQ(error_of<FileError>([&] { Normalizer::from(read, "target"); }),
            file + ": the file has no tensor 'target/mean'; it holds 'input/deviation', 'input/mean'");
  Checkpoint damaged = read;
  damaged.tensors.at("input/deviation").values[1] = 0;
  EXPECT_TRUE(error_of<DataError>([&] { Normalizer::from(damaged, "input"); }).starts_with(file + ": normalizer, column 1: "));
}

TEST(Normalizer, UndoesWhatItApplied) {
  const Normalizer normalizer({4, -1}, {2, 0.25f});
  Floats values{0, 0, 1, -2, 0.5f, 4};
  normalizer.undo(values);
  EXPECT_EQ(values, (Floats{4, -1, 6, -1.5f, 5, 0}));
  normalizer.apply(values);
  EXPECT_EQ(values, (Floats{0, 0, 1, -2, 0.5f, 4}));
  Floats odd{1, 2, 3};
  EXPECT_THROW(normalizer.undo(odd), DataError);
  EXPECT_EQ(odd, (Floats{1, 2, 3}));
}

}  // namespace normalizer_test
