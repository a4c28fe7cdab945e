// Columns of one integer input, each with the indices of its own table or the labels of its own task: the bits of separate
// inputs, and errors that name the column.
#include <gtest/gtest.h>

#include <numeric>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace columns_test {

using namespace both_ways;

struct Apart {
  nn::Embedding colour, size;
  nn::Linear hidden, species, habit;
  constexpr explicit Apart(Scope s)
      : colour(s / "colour", 7, 3), size(s / "size", 5, 2, {.padding_idx = 4}), hidden(s / "hidden", 5, 6),
        species(s / "species", 6, 4), habit(s / "habit", 6, 3) {}
  constexpr Var hidden_of(Var colours, Var sizes) const { return tanh(hidden(concat({colour(colours), size(sizes)}, 1))); }
  constexpr Loss loss(Var colours, Var sizes, Var of_species, Var of_habit) const {
    const Var x = hidden_of(colours, sizes);
    return {cross_entropy(species(x), of_species) + cross_entropy(habit(x), of_habit)};
  }
};
/// Columns: colour, one that nothing reads, and size; tasks: species and habit.
struct Together : Apart {
  using Apart::Apart;
  constexpr Var predict(Var columns) const { return species(hidden_of(select(columns, 1, 0), select(columns, 1, 2))); }
  constexpr Loss loss(Var columns, Var tasks) const {
    return Apart::loss(select(columns, 1, 0), select(columns, -1, 2), select(tasks, 1, 0), select(tasks, 1, 1));
  }
};
using ApartNet = Compiled<Apart, Inputs<i32, i32, i32, i32>>;
using TogetherNet = Compiled<Together, Inputs<i32[3], i32[2]>>;

using Column = std::vector<std::int32_t>;
const Column colours = labels(samples, 7), sizes = labels(samples + 3, 5), species = labels(samples, 4),
             habits = labels(samples + 1, 3);

Samples<std::int32_t> one(const Column& column) { return {{column.end() - samples, column.end()}, {}}; }
Samples<std::int32_t> interleaved(const std::vector<Samples<std::int32_t>>& columns) {
  Samples<std::int32_t> rows{{}, {std::ssize(columns)}};
  for (std::size_t s = 0; s < samples; ++s)
    for (const auto& column : columns) rows.values.push_back(column.values[s]);
  return rows;
}
const Samples<std::int32_t> columns = interleaved({one(colours), one(Column(samples, -7)), one(sizes)}),
                            tasks = interleaved({one(species), one(habits)});

TEST(Columns, HaveTheBitsOfInputsApart) {
  const auto apart = train_compiled<ApartNet>({60}, 1, one(colours), one(sizes), one(species), one(habits));
  EXPECT_EQ(apart, train_compiled<TogetherNet>({60}, 1, columns, tasks));
  EXPECT_EQ(apart, train_compiled<TogetherNet>({7, 1, 30, 22}, 2, columns, tasks));
  EXPECT_EQ(apart, train_eager<Together>({60}, columns, tasks));
  EXPECT_EQ(apart, train_eager<Together>({13, 21}, columns, tasks));
}

/// A bad value: its place among the values of samples 0 to 59, and the expected error.
struct Bad {
  std::size_t place;
  std::int32_t value;
  const char* words;
};
constexpr Bad bad_columns[] = {{3 * 41, 7, "input 0, sample 41: index 0 is 7, outside the table's 7 rows 0 to 6"},
                               {3 * 41 + 2, 5, "input 0, sample 41: index 2 is 5, outside the table's 5 rows 0 to 4"},
                               {3 * 59 + 2, -1, "input 0, sample 59: index 2 is -1, outside the table's 5 rows 0 to 4"}};
constexpr Bad bad_tasks[] = {{2 * 41, 4, "input 1, sample 41: label 0 is 4, outside the 4 classes 0 to 3"},
                             {2 * 59 + 1, 3, "input 1, sample 59: label 1 is 3, outside the 3 classes 0 to 2"}};

template <class F>
void for_bad(F f) {
  const auto change = [](std::span<const std::int32_t> values, const Bad& bad) {
    Column changed(values.begin(), values.end());
    changed[bad.place] = bad.value;
    return changed;
  };
  const auto x = columns.part(0, window), y = tasks.part(0, window);
  for (const Bad& bad : bad_columns) f(change(x, bad), Column(y.begin(), y.end()), bad.words);
  for (const Bad& bad : bad_tasks) f(Column(x.begin(), x.end()), change(y, bad), bad.words);
}

TEST(Columns, AreCheckedBeforeAnythingIsLearned) {
  Session session(TogetherNet{}, optimizer, {.global_batch = window, .micro_batch = 7, .gather = true});
  Inference<TogetherNet> inference(session.parameters(), 7);
  const std::vector<std::byte> before(session.parameter_bytes().begin(), session.parameter_bytes().end());
  std::vector<std::int32_t> rows(window);
  std::iota(rows.begin(), rows.end(), 0);
  std::int64_t taken = 0;
  for_bad([&](const Column& x, const Column& y, const std::string& words) {
    EXPECT_EQ(error_of<DataError>([&] { session.accumulate(x, y); }), words);
    EXPECT_EQ(error_of<DataError>([&] { session.accumulate_rows(rows, 0, true, taken, x, y); }), words);
    EXPECT_EQ(error_of<DataError>([&] { session.evaluate(x, y); }), words);
    if (words.starts_with("input 0")) {
      std::vector<float> scores(window * 4);
      EXPECT_EQ(error_of<DataError>([&] { inference(x, scores); }), words);
    }
  });
  EXPECT_EQ(session.position(), 0);
  EXPECT_EQ(differing_bits(before, session.parameter_bytes()), 0);
}

TEST(Columns, AreCheckedInEagerSessions) {
  Parameters parameters(Device::cpu());
  const Together net(parameters.root());
  Session session(parameters, optimizer, {.global_batch = window});
  const std::vector<std::byte> before(session.parameter_bytes().begin(), session.parameter_bytes().end());
  for_bad([&](const Column& x, const Column& y, const std::string& words) {
    EXPECT_EQ(error_of<DataError>([&] {
                session.accumulate(window, [&](EagerTape& tape) {
                  const Var of_columns = tape.input(x, {3});
                  return net.loss(of_columns, tape.input(y, {2}));
                });
              }),
              words);
  });
  EXPECT_EQ(session.position(), 0);
  EXPECT_EQ(differing_bits(before, session.parameter_bytes()), 0);
}

TEST(Columns, AreCheckedInAllDataOfAFit) {
  for_bad([](const Column& x, const Column& y, const std::string& words) {
    Trainer compiled(TogetherNet{}, optimizer, {.global_batch = 7});
    EXPECT_EQ(error_of<DataError>([&] { compiled.fit(Dataset<i32, i32>::of(window, x, y)); }), words);
    EXPECT_EQ(compiled.session().step_count(), 0);
    Parameters parameters(Device::cpu());
    const Together net(parameters.root());
    EagerNet eager(parameters, [&](EagerTape& tape, std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
      return net.loss(tape.input(a, {3}), tape.input(b, {2}));
    });
    Trainer eagerly(eager, optimizer, {.global_batch = 7});
    EXPECT_EQ(error_of<DataError>([&] { eagerly.fit(Dataset<i32, i32>::of(window, x, y)); }), words);
    EXPECT_EQ(eagerly.session().step_count(), 0);
  });
}

/// Compares the source that is found for a view with what it reads of an input whose values are their places.
TEST(Columns, AreFoundBehindViews) {
  struct View {
    Var (*of)(Var x);
    bool exact;
  };
  const View views[] = {
      {[](Var x) { return x; }, true},
      {[](Var x) { return select(x, 3, 1); }, true},
      {[](Var x) { return select(x, 1, 2); }, true},
      {[](Var x) { return slice(x, 2, 1, 2); }, true},
      {[](Var x) { return select(select(x, 1, 2), 1, 1); }, true},
      {[](Var x) { return select(select(select(x, 2, 1), 2, 0), 1, 3); }, true},
      {[](Var x) { return slice(slice(x, 3, 0, 2), 3, 1, 1); }, true},
      {[](Var x) { return slice(slice(x, 1, 1, 3), 1, 1, 2); }, true},
      {[](Var x) { return select(flatten(slice(x, 1, 1, 2)), 1, 7); }, true},
      {[](Var x) { return transpose(select(x, 2, 1), {0, 2, 1}); }, true},
      {[](Var x) { return broadcast(slice(x, 2, 1, 1), Shape::per_sample({4, 3, 2})); }, true},
      {[](Var x) { return select(select(x, 3, 1), 1, 2); }, false},
      {[](Var x) { return slice(slice(x, 1, 1, 2), 3, 1, 1); }, false},
      {[](Var x) { return slice(slice(x, 3, 1, 1), 1, 1, 2); }, false},
      {[](Var x) { return select(transpose(x, {0, 3, 2, 1}), 1, 1); }, false},
      {[](Var x) { return select(broadcast(slice(x, 2, 1, 1), Shape::per_sample({4, 3, 2})), 2, 1); }, false},
  };
  constexpr std::int64_t width = 4 * 3 * 2;
  std::vector<std::int32_t> places(width);
  std::iota(places.begin(), places.end(), 0);
  for (const View& view : views) {
    EagerTape tape(Device::cpu(), 1);
    Var source = view.of(tape.input(places, {4, 3, 2}));
    const Tensor read = value(source);
    const LabelRange range = gradual::detail::find_source(source);
    EXPECT_EQ(source.id, 0);
    EXPECT_EQ(range.exact, view.exact) << &view - views;
    for (std::int32_t place = 0; place < width; ++place) {
      const bool is_read = std::ranges::find(read.values<std::int32_t>(), place) != read.values<std::int32_t>().end();
      if (range.exact) EXPECT_EQ(range.holds(place), is_read) << place;
      else EXPECT_TRUE(range.holds(place) || !is_read) << place;
    }
  }
}

TEST(Columns, ThatCannotBeToldApartAreRefused) {
  Tape tape;
  const Var scores = input(tape, Shape::per_sample({2, 5}), DType::f32),
            label = input(tape, Shape::per_sample({4, 2}), DType::i32);
  const auto late = [&](std::int64_t column) { return slice(select(label, 2, column), 1, 2, 2); };
  const Var fewer = slice(scores, 2, 0, 4);
  cross_entropy(scores, late(0));
  cross_entropy(fewer, late(1));  // another column
  cross_entropy(scores, slice(select(label, 2, 0), 1, 0, 2));
  EXPECT_EQ(error_of<ShapeError>([&] { cross_entropy(fewer, slice(select(label, 2, 0), 1, 0, 2)); }),
            "labels of 5 and of 4 classes are views of one input that may overlap: give each an input of its own");
  EXPECT_EQ(tape.label_ranges.size(), 2u) << "each once";
}

}  // namespace columns_test
