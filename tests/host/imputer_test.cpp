// Filling in missing values: against means worked out by hand, from a table's text to a net's inputs, and through a file.
#include <gtest/gtest.h>

#include <cmath>

#include <gradual/data/csv.hpp>
#include <gradual/data/imputer.hpp>
#include <gradual/data/normalizer.hpp>

#include "../error_of.hpp"

namespace imputer_test {

using namespace gradual;

using Floats = std::vector<float>;

TEST(Imputer, FillsInTheMeanOfWhatIsThere) {
  Floats table{NAN, 10, 3, NAN, 5, 50};
  const Imputer imputer = Imputer::fit(table, 2);
  EXPECT_EQ(imputer.fill(), (Floats{4, 30}));
  EXPECT_EQ(Imputer::missing(table), (Floats{1, 0, 0, 1, 0, 0}));
  imputer.apply(table);
  EXPECT_EQ(table, (Floats{4, 10, 3, 30, 5, 50}));
  Floats other{NAN, NAN};
  imputer.apply(other);
  EXPECT_EQ(other, (Floats{4, 30})) << "with what was measured, not with what it sees";
}

TEST(Imputer, LeavesTheMeanOfANormalizer) {
  const Table table = parse_csv("1,7\n,9\n4,NA\n", {.missing = {"", "NA"}});
  Floats x = table.values;
  const Imputer imputer = Imputer::fit(x, table.columns);
  imputer.apply(x);
  const Normalizer normalizer = Normalizer::fit(x, table.columns);
  EXPECT_EQ(normalizer.mean(), imputer.fill());
  normalizer.apply(x);
  EXPECT_EQ(x[2], 0);
  EXPECT_EQ(x[5], 0);
}

TEST(Imputer, IsExactForEqualAndForLargeValues) {
  EXPECT_EQ(Imputer::fit(Floats{NAN, 0.1f, 0.1f, 0.1f}, 1).fill(), Floats{0.1f});
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(Imputer::fit(Floats{largest, NAN, largest}, 1).fill(), Floats{largest});
  EXPECT_EQ(ImputerIn<double>::fit(std::vector<double>{0x1p60, NAN, 0x1p60 + 4096}, 1).fill(),
            std::vector<double>{0x1p60 + 2048});
}

TEST(Imputer, RefusesWhatItCannotMeasure) {
  EXPECT_EQ(error_of<DataError>([] { Imputer::fit(Floats{1, 2, 3}, 2); }), "imputer: 3 values are not rows of 2");
  EXPECT_EQ(error_of<OptionError>([] { Imputer::fit(Floats{1}, 0); }), "imputer: 0 columns");
  EXPECT_EQ(error_of<DataError>([] { Imputer::fit(Floats{1, NAN, 2, NAN}, 2); }),
            "imputer, column 1: no row has a value");
  EXPECT_EQ(error_of<DataError>([] { Imputer::fit(Floats{}, 2); }), "imputer, column 0: no row has a value");
  EXPECT_EQ(error_of<DataError>([] { Imputer::fit(Floats{1, 2, 3, INFINITY}, 2); }),
            "imputer, row 1, column 1: a value that is infinite");
  EXPECT_EQ(Imputer({38.5f, 120}).fill(), (Floats{38.5f, 120}));
  EXPECT_EQ(error_of<DataError>([] { Imputer(Floats{}); }), "imputer: no columns");
  EXPECT_EQ(error_of<DataError>([] { Imputer(Floats{1, INFINITY}); }), "imputer, column 1: it would fill in inf");
}

TEST(Imputer, ARefusedTableIsUnchanged) {
  Floats table{NAN, 1, 2};
  EXPECT_EQ(error_of<DataError>([&] { Imputer(Floats{0, 0}).apply(table); }), "imputer: 3 values are not rows of 2");
  EXPECT_TRUE(std::isnan(table[0]));
}

TEST(Imputer, IsKeptInAFile) {
  const Imputer imputer(Floats{0.1f, -3});
  Checkpoint file;
  imputer.store(file, "input");
  EXPECT_EQ(Imputer::from(file, "input").fill(), imputer.fill());
  EXPECT_THROW(imputer.store(file, "input"), FileError);
  file.path = "net.safetensors";
  EXPECT_EQ(error_of<FileError>([&] { Imputer::from(file, "target"); }).substr(0, 54),
            "net.safetensors: the file has no tensor 'target/fill';");
}

}  // namespace imputer_test
