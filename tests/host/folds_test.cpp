// Rows for cross-validation: each is held back once, by class or in whole groups, depending on the seed alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <gradual/gradual.hpp>

#include "../error_of.hpp"

namespace folds_test {

using namespace gradual;
using Rows = std::vector<std::int32_t>;

/// Returns labels of 40 rows: 22 are 0, 12 are 5, and 6 are −3.
Rows some_labels() {
  Rows labels;
  for (int i = 0; i < 40; ++i) labels.push_back(i % 7 == 1 ? -3 : i % 3 == 0 ? 5 : 0);
  return labels;
}

void expect_each_row_once(const Folds& folds, std::int64_t rows) {
  Rows all;
  for (std::int64_t f = 0; f < folds.count(); ++f) {
    const Rows held_back = folds.held_back(f), learned = folds.learned(f);
    EXPECT_TRUE(std::ranges::is_sorted(held_back) && std::ranges::is_sorted(learned));
    Rows both;
    std::ranges::set_union(held_back, learned, std::back_inserter(both));
    EXPECT_EQ(std::ssize(both), rows);
    EXPECT_EQ(std::ssize(held_back) + std::ssize(learned), rows);
    all.insert(all.end(), held_back.begin(), held_back.end());
  }
  std::ranges::sort(all);
  for (std::int32_t row = 0; row < rows; ++row) EXPECT_EQ(all[static_cast<std::size_t>(row)], row);
}

TEST(Folds, HaveEachClassesShare) {
  const Rows labels = some_labels();
  const Folds folds = Folds::stratified(labels, 5, 1);
  expect_each_row_once(folds, 40);
  for (const std::int32_t label : {-3, 0, 5}) {
    const auto of_label = std::ranges::count(labels, label);
    for (int f = 0; f < 5; ++f) {
      EXPECT_EQ(folds.held_back(f).size(), 8u);
      const auto held_back = std::ranges::count_if(folds.held_back(f), [&](std::int32_t row) {
        return labels[static_cast<std::size_t>(row)] == label;
      });
      EXPECT_GE(held_back, of_label / 5);
      EXPECT_LE(held_back, (of_label + 4) / 5);
    }
  }
}

TEST(Folds, HaveWholeGroupsAndAlikeManyRows) {
  Rows patients;  // one with 30 rows, and 30 with three each
  for (int i = 0; i < 120; ++i) patients.push_back(i < 30 ? 99 : i / 3);
  const Folds folds = Folds::grouped(patients, 4, 1);
  expect_each_row_once(folds, 120);
  for (int f = 0; f < 4; ++f) {
    EXPECT_EQ(folds.held_back(f).size(), 30u);
    std::set<std::int32_t> here, elsewhere;
    for (const std::int32_t row : folds.held_back(f)) here.insert(patients[static_cast<std::size_t>(row)]);
    for (const std::int32_t row : folds.learned(f)) elsewhere.insert(patients[static_cast<std::size_t>(row)]);
    for (const std::int32_t patient : here) EXPECT_FALSE(elsewhere.contains(patient));
  }
}

TEST(Folds, RollForwardInTime) {
  Rows times;  // two series of 20 days that begin 5 days apart, the later one first
  for (int i = 0; i < 40; ++i) times.push_back(i < 20 ? 100 + 5 + i : 100 + i - 20);
  for (const int gap : {0, 3}) {
    const Folds folds = Folds::rolling(times, 4, 5, gap);
    ASSERT_EQ(folds.count(), 4);
    for (int f = 0; f < 4; ++f) {
      Rows held_back, learned;
      const int begin = 105 + 5 * f;  // the last day is 124
      for (int row = 0; row < 40; ++row) {
        const int time = times[static_cast<std::size_t>(row)];
        if (time >= begin && time < begin + 5) held_back.push_back(row);
        if (time < begin - gap) learned.push_back(row);
      }
      EXPECT_EQ(folds.held_back(f), held_back) << f;
      EXPECT_EQ(folds.learned(f), learned) << f;
    }
    EXPECT_THROW(folds.learned(4), OptionError);
    EXPECT_THROW(folds.held_back(-1), OptionError);
  }
  EXPECT_EQ(Folds::rolling(Rows{4, 7}, 1, 3).learned(0), Rows{0}) << "one fold is the newest block";
  EXPECT_EQ(Folds::rolling(Rows{2147483640, 2147483646, 2147483647}, 1, 1).learned(0), (Rows{0, 1})) << "up to the last time";
}

TEST(Folds, RefuseToRollWhereNothingIsLeft) {
  Rows times(30);
  for (int i = 0; i < 30; ++i) times[static_cast<std::size_t>(i)] = i < 20 ? i : i + 100;
  EXPECT_EQ(error_of<DataError>([&] { Folds::rolling(times, 13, 10); }),
            "folds: nothing to learn in fold 0 of 13: 10 times each and a gap of 0, in times from 0 to 129");
  EXPECT_EQ(error_of<DataError>([&] { Folds::rolling(times, 2, 10, 120); }),
            "folds: nothing to learn in fold 0 of 2: 10 times each and a gap of 120, in times from 0 to 129");
  EXPECT_EQ(error_of<DataError>([&] { Folds::rolling(times, 2, 10); }),
            "folds: nothing to hold back in fold 0 of 2: 10 times each and a gap of 0, in times from 0 to 129");
  EXPECT_THROW(Folds::rolling(times, std::int64_t{1} << 40, std::int64_t{1} << 40), DataError);
  EXPECT_EQ(error_of<DataError>([] { Folds::rolling(Rows{}, 2, 1); }), "folds: 2 cannot be made of 0 rows");
  EXPECT_EQ(error_of<OptionError>([&] { Folds::rolling(times, 0, 10, 0); }), "folds: 0 of 10 times each, with a gap of 0");
  EXPECT_THROW(Folds::rolling(times, 2, 0), OptionError);
  EXPECT_THROW(Folds::rolling(times, 2, 1, -1), OptionError);
}

TEST(Folds, DependOnTheSeedAlone) {
  const Rows labels = some_labels();
  Rows patients;
  for (int i = 0; i < 40; ++i) patients.push_back(i / 2);
  for (const auto make : {Folds::stratified, Folds::grouped}) {
    const Rows& of = make == Folds::stratified ? labels : patients;
    EXPECT_EQ(make(of, 4, 1).held_back(2), make(of, 4, 1).held_back(2));
    EXPECT_NE(make(of, 4, 1).held_back(2), make(of, 4, 2).held_back(2));
  }
  EXPECT_EQ(Folds::stratified(Rows{4, 4, 4, 4}, 2, 0).held_back(0), (Rows{1, 2}));  // must never change
  EXPECT_EQ(Folds::grouped(Rows{7, 7, 8, 9, 9, 9}, 2, 0).held_back(0), (Rows{3, 4, 5}));
}

TEST(Folds, HoldBackOneRowEachWhereThereAreNoMore) { expect_each_row_once(Folds::grouped(Rows{5, 6, 7}, 3, 0), 3); }

TEST(Folds, RefuseWhatCannotBeShared) {
  EXPECT_EQ(error_of<OptionError>([] { Folds::stratified(Rows{0, 1}, 1, 0); }),
            "folds: 1; at least 2 are needed, as one is held back");
  EXPECT_EQ(error_of<DataError>([] { Folds::stratified(Rows{0, 0, 0, 1}, 2, 0); }),
            "folds: label 1 has fewer rows, 1, than there are folds, 2");
  EXPECT_EQ(error_of<DataError>([] { Folds::stratified(Rows{}, 2, 0); }), "folds: 2 cannot be made of 0 rows");
  EXPECT_EQ(error_of<DataError>([] { Folds::grouped(Rows{3, 3, 3, 4}, 3, 0); }), "folds: 3 cannot be made of 2 groups");
  const Folds folds = Folds::stratified(Rows{0, 0, 0, 0}, 2, 0);
  EXPECT_EQ(error_of<OptionError>([&] { folds.held_back(2); }), "fold 2 of 2");
  EXPECT_EQ(error_of<OptionError>([&] { folds.learned(-1); }), "fold -1 of 2");
}

TEST(Folds, AreRowsOfATable) {
  std::string text = "species,length\n";
  for (int i = 0; i < 20; ++i) text += (i % 2 == 0 ? "setosa," : "virginica,") + std::to_string(i) + "\n";
  const Table table = parse_csv(text, {.header = true, .text = {{"species", {}}}});
  std::vector<double> scores;
  const auto score_of = [](const Table& learned, const Table& held_back) {
    EXPECT_EQ(learned.rows, 16);
    return static_cast<double>(std::ranges::count(held_back.labels("species"), 1)) / static_cast<double>(held_back.rows);
  };
  const Folds folds = Folds::stratified(table.labels("species"), 5, 7);  // the seed
  for (int f = 0; f < folds.count(); ++f) {
    const Table learned = table.take_rows(folds.learned(f)), held_back = table.take_rows(folds.held_back(f));
    scores.push_back(score_of(learned, held_back));
  }
  EXPECT_EQ(scores, std::vector<double>(5, 0.5));
}

}  // namespace folds_test
