// Numbers in text: what is read, and what is refused with file, line and column.
#include <gtest/gtest.h>

#include <gradual/data/csv.hpp>
#include <gradual/data/imputer.hpp>

#include "../error_of.hpp"

namespace csv_test {

using namespace gradual;

std::string error_of(std::string_view text, CsvOptions options = {}) {
  try {
    parse_csv(text, options, "t.csv");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Csv, ReadsRowsWithAnyLineEnd) {
  for (const char* text : {"1,2.5\n-3e2,4\n", "1,2.5\r\n-3e2,4\r\n", "1,2.5\n-3e2,4"}) {
    const Table table = parse_csv(text);
    EXPECT_EQ(table.rows, 2);
    EXPECT_EQ(table.columns, 2);
    EXPECT_EQ(table.values, (std::vector<float>{1, 2.5f, -300, 4}));
  }
}

TEST(Csv, LinesThatEndWithCarriageReturnsAloneAreRefused) {
  const char* const text = "t.csv: its lines end with CR alone: end them with LF, as `tr '\\r' '\\n'` does";
  EXPECT_EQ(error_of("1,2\r3,4\r"), text);
  EXPECT_EQ(error_of("a\rb", {.text = {{0, {}}}}), text);
  EXPECT_EQ(parse_csv("1,2\r").values, (std::vector<float>{1, 2}));
  EXPECT_EQ(error_of("\"a\",b\r1,2\r3,4\r", {.header = true}), text);
  EXPECT_EQ(parse_csv("\"a\rb\",2\r", {.text = {{0, {}}}}).text.at(0)[0], "a\rb");
  EXPECT_EQ(error_of("\r"), "t.csv: no rows of numbers");
}

TEST(Csv, NumbersTooSmallForFloatAreZero) { EXPECT_EQ(parse_csv("1e-50\n").values, std::vector<float>{0}); }

TEST(Csv, FloatsAreRoundedOnce) {  // as a double, this one is halfway between two floats
  EXPECT_EQ(parse_csv("1.00000017881393432617187499\n").values, std::vector<float>{0x1.000002p0f});
}

TEST(Csv, ReadsNames) {
  const Table table = parse_csv("a,b\n1,2\n", {.header = true});
  EXPECT_EQ(table.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.rows, 1);
  EXPECT_EQ(error_of("a,b\n1,2\n"),
            "t.csv, line 1, column 1: 'a' is not a finite number (.header = true reads a line of names, .text columns of text)");
}

TEST(Csv, PassesOverWhatIsNoNumberAndNoMistake) {
  const Table table =
      parse_csv("\xEF\xBB\xBF \"day\" , \"a\",b\n2024-01-01, 1 ,\t2\r\n\n2024-01-02,3,4\n \n", {.header = true, .skip = {0}});
  EXPECT_EQ(table.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.columns, 2);
  EXPECT_EQ(table.values, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(parse_csv("1;2\n", {.separator = ';'}).values, (std::vector<float>{1, 2}));
  EXPECT_EQ(parse_csv("\t1\t2\t\n", {.separator = '\t', .skip = {0, 3}}).values, (std::vector<float>{1, 2}));
  EXPECT_EQ(error_of("1,2\n\n3\n"), "t.csv, line 3, column 1: the line has 1 columns instead of 2");
  EXPECT_EQ(error_of("\xFF\xFE" "1"), "t.csv: is UTF-16: save it as UTF-8");
}

TEST(Csv, ReadsWhatIsMissingAsNaN) {
  const Table table = parse_csv("1,,a\nNA, \"?\" ,\n+3,4,NA\n", {.text = {{2, {}}}, .missing = {"", "NA", "?"}});
  ASSERT_EQ(table.values.size(), 9u);
  const std::vector<float> marks = Imputer::missing(table.values);
  EXPECT_EQ(marks, (std::vector<float>{0, 1, 0, 1, 1, 0, 0, 0, 0})) << "not in columns of text";
  EXPECT_EQ(table.values[6], 3);
  EXPECT_EQ(table.text.at(2).texts(), (std::vector<std::string>{"", "NA", "a"}));
  EXPECT_THROW(table.labels(0), DataError);
  EXPECT_EQ(error_of("1,2\n3,\n", {.missing = {"NA"}}),
            "t.csv, line 2, column 2: '' is not a finite number (.missing reads missing numbers)");
}

TEST(Csv, ReadsDoubles) {
  const TableIn<double> table = parse_csv<double>("0.1,1e200\n");
  EXPECT_EQ(table.values, (std::vector<double>{0.1, 1e200}));
  EXPECT_THROW(parse_csv("0.1,1e200\n"), DataError);
}

TEST(Csv, TakesSomeColumns) {
  const Table table = parse_csv("1,2,3\n4,5,6\n");
  EXPECT_EQ(table.take(0, 2), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(table.take(2, 3), (std::vector<float>{3, 6}));
  EXPECT_TRUE(table.take(1, 1).empty());
  EXPECT_THROW(table.take(1, 4), DataError);
  EXPECT_THROW(table.take(-1, 2), DataError);
  EXPECT_THROW(table.take(2, 1), DataError);
  EXPECT_EQ(table.take({2, 0}), (std::vector<float>{3, 1, 6, 4}));
  EXPECT_EQ(::error_of<DataError>([&] { table.take({0, 3}); }), "table: column 3 of 3");
  const Table named = parse_csv("a,b,c\n1,2,3\n4,5,6\n", {.header = true});
  EXPECT_EQ(named.take({"c", "a"}), (std::vector<float>{3, 1, 6, 4}));
  EXPECT_THROW(named.take({"a", "d"}), DataError);
}

TEST(Csv, NamesTheFieldThatIsNoNumber) {
  EXPECT_EQ(error_of("1,2\n3,\n"), "t.csv, line 2, column 2: '' is not a finite number (.missing reads missing numbers)");
  const std::string hint = "' is not a finite number (.text reads columns of text, .skip leaves columns out)";
  for (const std::string field : {"2021-04-30", "12.5 mg", "30/4/2021", "1.2.3"})
    EXPECT_EQ(error_of("1\n" + field + "\n"), "t.csv, line 2, column 1: '" + field + hint);
  EXPECT_EQ(error_of("1,1e400\n"), "t.csv, line 1, column 2: '1e400' is not a finite number");
  EXPECT_EQ(error_of("1,1e50\n"), "t.csv, line 1, column 2: '1e50' is not a finite number in float");
  EXPECT_EQ(error_of("1;2\n"),
            "t.csv, line 1, column 1: '1;2' is not a finite number (.separator = ';' reads columns separated by it)");
  EXPECT_EQ(error_of("x;y,2\n"),
            "t.csv, line 1, column 1: 'x;y' is not a finite number (.header = true reads a line of names, .text columns of text)");
  EXPECT_EQ(error_of("a\tb\n1\t2\n", {.header = true}),
            "t.csv, line 2, column 1: '1?2' is not a finite number (.separator = '\\t' reads columns separated by it)");
  EXPECT_EQ(error_of("1,5;2\n", {.separator = ';'}),
            "t.csv, line 1, column 1: '1,5' is not a finite number (.separator = ',' reads columns separated by it, "
            ".decimal = ',' decimal commas)");
  EXPECT_EQ(error_of("1,\"2,5\"\n"),
            "t.csv, line 1, column 2: '2,5' is not a finite number (.decimal = ',' reads decimal commas)");
  EXPECT_EQ(error_of("nan\n"),
            "t.csv, line 1, column 1: 'nan' is not a finite number (.header = true reads a line of names, .text columns of text)");
  EXPECT_EQ(error_of("1\nnan\n"), "t.csv, line 2, column 1: 'nan' is not a finite number (.missing reads missing numbers)");
  EXPECT_EQ(error_of("1\n+-1\n"), "t.csv, line 2, column 1: '+-1' is not a finite number (.missing reads missing numbers)");
}

TEST(Csv, ReadsDecimalCommasAndGroupsOfThousands) {
  EXPECT_EQ(parse_csv("1,5;-0,25\n+,5;1,5e-2\n", {.separator = ';', .decimal = ','}).values,
            (std::vector<float>{1.5f, -0.25f, 0.5f, 0.015f}));
  EXPECT_EQ(parse_csv("\"1,5\",7\n", {.decimal = ','}).values, (std::vector<float>{1.5f, 7}));
  EXPECT_EQ(parse_csv<double>("48.181,5;-1.234.567;999\n", {.separator = ';', .decimal = ',', .thousands = '.'}).values,
            (std::vector<double>{48181.5, -1234567, 999}));
  EXPECT_EQ(parse_csv("\"1,234.5\",2.5\n", {.thousands = ','}).values, (std::vector<float>{1234.5f, 2.5f}));
  EXPECT_EQ(parse_csv("1'234 5 678\n", {.separator = ' ', .thousands = '\''}).values, (std::vector<float>{1234, 5, 678}));
  EXPECT_EQ(parse_csv("1 234;5\n", {.separator = ';', .thousands = ' '}).values, (std::vector<float>{1234, 5}));
  EXPECT_EQ(parse_csv<double>("1.234e5;1.234,5e-1;1e3\n", {.separator = ';', .decimal = ',', .thousands = '.'}).values,
            (std::vector<double>{123400000, 123.45, 1000}));
  for (const std::string field : {"1.5", "1.2345", "12.34.567", ".123", "1234.567", "1.234.56", "1.,5", "1,234.567", "1,2,3",
                                  "1.23e5", "1.1e23", "1.e123", "1.234e5.678", "1e5,5"})
    EXPECT_EQ(error_of(field + "\n", {.separator = ';', .decimal = ',', .thousands = '.'}),
              "t.csv, line 1, column 1: '" + field + "' is not a finite number (.decimal = ',', .thousands = '.')");
  EXPECT_EQ(error_of("1.5\n", {.decimal = ','}),
            "t.csv, line 1, column 1: '1.5' is not a finite number (.decimal = ',', and no .thousands)");
  EXPECT_EQ(error_of("1.5\n", {.decimal = ',', .thousands = '.'}),
            "t.csv, line 1, column 1: '1.5' is not a finite number (.decimal = ',', .thousands = '.')");
  EXPECT_EQ(error_of("1\nn.a.\n", {.decimal = ','}),
            "t.csv, line 2, column 1: 'n.a.' is not a finite number (.missing reads missing numbers)");
  const auto refused = [](const CsvOptions& options) { return ::error_of<OptionError>([&] { parse_csv("1\n", options); }); };
  EXPECT_EQ(refused({.decimal = ';'}), "csv: .decimal is ';': it must be a point or a comma");
  EXPECT_EQ(refused({.thousands = '.'}), "csv: a .thousands that occurs in numbers, quotes or line ends: '.'");
  EXPECT_EQ(refused({.thousands = '-'}), "csv: a .thousands that occurs in numbers, quotes or line ends: '-'");
}

TEST(Csv, FindsMissingNumbersHoweverTheyAreWritten) {
  const auto missing = [](const char* text, const CsvOptions& options) {
    return Imputer::missing(parse_csv(text, options).values);
  };
  EXPECT_EQ(missing("-999\n-999.0\n-9.99e2\n999\n-999.1\nx\n", {.missing = {"-999", "x"}}),
            (std::vector<float>{1, 1, 1, 0, 0, 1}));
  EXPECT_EQ(missing("-99,90\n-99,9\n-9990\nn.a.\n", {.separator = ';', .decimal = ',', .missing = {"-99,9", "n.a."}}),
            (std::vector<float>{1, 1, 0, 1}));
  EXPECT_EQ(missing("0\n-0.0\n5\n", {.missing = {"0"}}), (std::vector<float>{1, 1, 0}));
  EXPECT_EQ(missing("1\n1.#QNAN\n0\n", {.missing = {"1.#QNAN", "0 (none)"}}), (std::vector<float>{0, 1, 0}))
      << "a mark that only begins with a number is none";
  EXPECT_EQ(missing("1000000000\n1000000020\n999999999\n+999999999\n1e-50\n", {.missing = {"+999999999", "0"}}),
            (std::vector<float>{0, 0, 1, 1, 0})) << "other numbers may round to the same float";
  EXPECT_EQ(missing("1\n1e+99\n", {.missing = {"1e99"}}), (std::vector<float>{0, 1})) << "which is no float";
  for (const char* mark : {" NA", "NA\t", "\"NA\""})
    EXPECT_EQ(error_of("1\n", {.missing = {mark}}).find("csv: .missing has '"), 0u) << mark;
}

TEST(Csv, RefusesToSkipColumnsThatThereAreNot) {
  for (const std::vector<TableColumn>& skip : {std::vector<TableColumn>{-1}, {3}, {0, 0}})
    EXPECT_THROW(parse_csv("1,2,3\n4,5,6\n", {.skip = skip}), OptionError) << skip[0].text();
  EXPECT_LT(error_of(std::string(5000, 'x') + "\n").size(), 200u);
}

TEST(Csv, RefusesOtherColumnsAndEmptiness) {
  EXPECT_EQ(error_of("1,2\n3\n"), "t.csv, line 2, column 1: the line has 1 columns instead of 2");
  EXPECT_EQ(error_of("1,2\n3,4,5\n"), "t.csv, line 2, column 3: the line has 3 columns instead of 2");
  EXPECT_EQ(error_of("1,2\n", {.columns = 65}), "t.csv, line 1, column 2: the line has 2 columns instead of 65");
  EXPECT_EQ(error_of(""), "t.csv: no rows of numbers");
  EXPECT_THROW(read_csv("no such file"), FileError);
  EXPECT_THROW(read_csv("."), FileError);
}

TEST(Csv, TextsThatAreNoneOfTheGivenOnesHaveTheNumberOfWhatIsUnknown) {
  const Table seen = parse_csv("b,1,x\na,2,y\n", {.text = {{0, {}}, {2, {}}}});
  const CsvOptions options{.text = seen.text, .unknown = {{0, seen.text.at(0).size()}}};
  const Table other = parse_csv("a,3,x\nc,4,y\n", options);
  EXPECT_EQ(other.labels(0), (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(other.labels(2), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(other.text.at(0).size(), 2);
  EXPECT_EQ(error_of("c,4,z\n", options), "t.csv, line 1, column 3: 'z' is not one of 2 categories: 'x', 'y'") << "a label";
  EXPECT_EQ(parse_csv("c,3,z\n", {.text = seen.text, .unknown = {{0, 0}, {2, 1}}}).values, (std::vector<float>{0, 3, 1}));
  for (const std::int64_t number : {-1, 3})
    EXPECT_EQ(error_of("a,3,x\n", {.text = seen.text, .unknown = {{0, number}}}),
              "csv: .unknown of column 0 is " + std::to_string(number) +
                  ", but there are 2 categories: it must be from 0 to that number");
  const char* const says_nothing =
      "csv: .unknown has column 0, but .text gives it no categories: without them no text is unknown";
  EXPECT_EQ(error_of("c,4\n", {.text = {{0, {}}}, .unknown = {{0, 0}}}), says_nothing);
  EXPECT_EQ(error_of("3,4\n", {.unknown = {{0, 0}}}), says_nothing);
  const Table named = parse_csv("n,kind\n1,c\n", {.header = true, .text = {{1, seen.text.at(0)}}, .unknown = {{"kind", 2}}});
  EXPECT_EQ(named.values, (std::vector<float>{1, 2})) << "a place and a name of one column";
  EXPECT_EQ(error_of("n,kind\n1,c\n", {.header = true, .text = named.text, .unknown = {{"kind", 2}, {1, 1}}}),
            "t.csv: column 1 of 2 cannot be given two numbers in .unknown");
  EXPECT_EQ(error_of("n,kind\n1,c\n", {.header = true, .text = named.text, .unknown = {{"knid", 2}}}),
            "t.csv: no column is named 'knid'; there are 'n', 'kind'");
  EXPECT_EQ(error_of("1,c\n", {.text = named.text, .unknown = {{9, 0}}}),
            "csv: .unknown has column 9, but .text gives it no categories: without them no text is unknown");
}

TEST(Csv, ColumnsOfATableMayNotBeThere) {
  const Table seen = parse_csv("kind,length,species\nb,1,x\na,2,y\n", {.header = true, .text = {{"kind", {}}, {"species", {}}}});
  const Table file = parse_csv("length,kind\n5,b\n", {.header = true, .text = seen.text});
  EXPECT_EQ(file.values, (std::vector<float>{5, 1})) << "without the labels";
  const Table row = parse_csv("b,5\n", {.names = {"kind", "length"}, .text = file.text});
  EXPECT_EQ(row.take({"length", "kind"}), file.values);
  EXPECT_EQ(parse_csv("b,5,y\n", {.names = seen.names, .text = seen.text}).labels("species"), std::vector<std::int32_t>{1});
  EXPECT_EQ(parse_csv("b,5,z\n", {.names = seen.names, .skip = {"species"}, .text = seen.text}).values,
            (std::vector<float>{1, 5})) << "or is skipped";
  EXPECT_EQ(error_of("length,kind\n5,c\n", {.header = true, .text = seen.text}),
            "t.csv, line 2, column 2: 'c' is not one of 2 categories: 'a', 'b'");
  EXPECT_EQ(error_of("length,kind\n5,b\n", {.header = true, .text = {{"species", seen.text.at("species")}}}),
            "t.csv: no column is named 'species'; there are 'length', 'kind'")
      << "by hand";
  const Table counted = parse_csv("1,a,x\n", {.text = {{1, {}}, {2, {}}}});
  EXPECT_EQ(parse_csv("2,a\n", {.text = counted.text}).values, (std::vector<float>{2, 0}));
}

TEST(Csv, ColumnsAreNamedWhereNoLineNamesThem) {
  const Table table = parse_csv("7,1,2\n8,3,4\n", {.names = {"day", "length", "width"}, .skip = {"day"}});
  EXPECT_EQ(table.names, (std::vector<std::string>{"length", "width"}));
  EXPECT_EQ(table.take({"width", "length"}), (std::vector<float>{2, 1, 4, 3}));
  EXPECT_EQ(error_of("1,2\n", {.names = {"a"}}), "t.csv, line 1, column 2: the line has 2 columns instead of 1");
  const char* const twice = "csv: .names are those of all columns: with them, leave out .header and .columns";
  EXPECT_EQ(error_of("a\n1\n", {.header = true, .names = {"a"}}), twice);
  EXPECT_EQ(error_of("1\n", {.columns = 1, .names = {"a"}}), twice);
}

TEST(Csv, RefusesWhatFitsNoFile) {
  EXPECT_EQ(error_of("1,2\n", {.columns = -3}), "csv: -3 columns");
  for (const char separator : std::string_view("\0\r\n\"+-.0123456789eE", 18))
    EXPECT_THROW(parse_csv("1-2\n", {.separator = separator}), OptionError) << separator;
  EXPECT_EQ(error_of("1-2\n", {.separator = '-'}),
            "csv: a .separator that occurs in numbers, quotes or line ends: '-'");
  EXPECT_EQ(parse_csv("1 2\n", {.separator = ' '}).columns, 2);
}

TEST(Csv, FindsColumnsByName) {
  const CsvOptions options{.header = true, .skip = {"day", 3}, .text = {{"kind", {}}}};
  const Table table = parse_csv("day,length,kind,note\nMonday,2,rose,-\nFriday,3,daisy,?\n", options);
  EXPECT_EQ(table.names, (std::vector<std::string>{"length", "kind"}));
  EXPECT_EQ(table.values, (std::vector<float>{2, 1, 3, 0}));
  EXPECT_EQ(table.text.at("kind").texts(), (std::vector<std::string>{"daisy", "rose"}));
  EXPECT_EQ(table.labels("kind"), table.labels(1));
  EXPECT_THROW(table.labels("day"), DataError);
  const Table other = parse_csv("kind,length\nrose,4\n", {.header = true, .text = table.text});  // in another order
  EXPECT_EQ(other.values, (std::vector<float>{1, 4}));
}

TEST(Csv, RefusesColumnsByNamesThatAreNotThere) {
  EXPECT_EQ(error_of("a,b\n1,2\n", {.header = true, .skip = {"c"}}), "t.csv: no column is named 'c'; there are 'a', 'b'");
  for (const CsvOptions& named : {CsvOptions{.skip = {"a"}}, CsvOptions{.text = {{"a", {}}}}})
    EXPECT_EQ(error_of("1,2\n", named),
              "csv: the name of column 'a' is unknown: .header = true reads names, .names gives them");
  EXPECT_EQ(error_of("a,a\n1,2\n", {.header = true, .text = {{"a", {}}}}), "t.csv: more than one column is named 'a'");
  EXPECT_EQ(error_of("a,b\n1,2\n", {.header = true, .skip = {1, "b"}}),
            "t.csv: column 'b' of 2 cannot be skipped; columns are counted from 0, each named once");
  EXPECT_EQ(error_of("a,b\n1,2\n", {.header = true, .text = {{1, {}}, {"b", {}}}}),
            "t.csv: column 1 of 2 cannot be a text column twice");
  const Table twice = parse_csv("a,a\n1,2\n", {.header = true});
  EXPECT_THROW(twice.column("a"), DataError);
  EXPECT_THROW(twice.labels("a"), DataError);
}

TEST(Csv, ColumnsAreNumbersAndTexts) {
  enum Flower { length, species };
  EXPECT_EQ(TableColumn(species), TableColumn(1));
  EXPECT_EQ(TableColumn(std::string_view("a")), TableColumn("a"));
  EXPECT_NE(TableColumn("1"), TableColumn(1));
  static_assert(!std::is_constructible_v<TableColumn, char> && !std::is_constructible_v<TableColumn, bool> &&
                !std::is_constructible_v<TableColumn, double> && !std::is_constructible_v<TableColumn, std::nullptr_t>);
}

TEST(Csv, NumbersBelowAllOthersAreZero) {
  EXPECT_EQ(parse_csv("1e-400,-2E-999\n").values, (std::vector<float>{0, 0}));
  EXPECT_EQ(error_of(std::string(400, '9') + "\n"),
            "t.csv, line 1, column 1: '" + std::string(80, '9') + "' is not a finite number");
  EXPECT_EQ(error_of("1e400\n"), "t.csv, line 1, column 1: '1e400' is not a finite number");
  EXPECT_EQ(error_of("0.001e+400\n"), "t.csv, line 1, column 1: '0.001e+400' is not a finite number");
  const std::string zeros(400, '0');
  EXPECT_EQ(parse_csv<double>("0." + zeros + "1,-." + zeros + "1e+9,1e-99999999999999999999\n").values,
            (std::vector<double>{0, 0, 0}));
  for (const std::string& large : {"1" + zeros + "e-5", "1" + zeros + ".5e-00005", std::string("1e99999999999999999999")})
    EXPECT_TRUE(error_of(large + "\n").ends_with("' is not a finite number")) << large;
}

TEST(Csv, WhatDoesNotPrintIsNoPartOfAnError) {
  EXPECT_TRUE(error_of(std::string("1,\0x\n", 5)).starts_with("t.csv, line 1, column 2: '?x' is not a finite number"));
  EXPECT_TRUE(error_of("1,\x7fx\n").starts_with("t.csv, line 1, column 2: '?x' is not a finite number"));
  EXPECT_TRUE(error_of("1\r2\n").starts_with("t.csv, line 1, column 1: '1?2' is not a finite number"));
}

TEST(Csv, TextsThatNoFileCouldHoldAreRefused) {
  const CsvOptions text{.text = {{0, {}}}};
  EXPECT_EQ(parse_csv("caf\xC3\xA9,1\n", text).text.at(0)[0], "caf\xC3\xA9");
  for (const char* latin : {"the,1\ncaf\xE9,2\n", "the,1\ncaf\xC3,2\n"}) {
    const std::string error = error_of(latin, text);
    EXPECT_TRUE(error.starts_with("t.csv, line 2, column 1: ") && error.ends_with("', is not UTF-8")) << error;
  }
}

TEST(Csv, FieldsInQuotesHoldEndsOfLines) {
  const std::string people = "\"of\r\nyears\", note,\"who\"\n41, \"first,\n\"\"so to say\"\"\n\",Ada\r\n\"42\",\"\", \"B\"\"o\"\"\"\n";
  const CsvOptions named{.header = true, .skip = {"note"}, .text = {{"who", {}}}};
  const Table table = parse_csv(people, named);
  EXPECT_EQ(table.names, (std::vector<std::string>{"of\r\nyears", "who"}));
  EXPECT_EQ(table.values, (std::vector<float>{41, 0, 42, 1}));
  EXPECT_EQ(table.text.at("who").texts(), (std::vector<std::string>{"Ada", "B\"o\""}));
  EXPECT_EQ(error_of(people + "old,,Cy\n", named),
            "t.csv, line 7, column 1: 'old' is not a finite number (.missing reads missing numbers)") << "lines are counted";
  EXPECT_EQ(error_of(people, {.header = true, .skip = {2}, .text = {{"note", {}}}}),
            "t.csv, line 3, column 2: a category, 'first,?\"so to say\"?', has more than one line");
  EXPECT_EQ(parse_csv("5\" tall,1\n6\" tall,2\n", {.skip = {0}}).values, (std::vector<float>{1, 2})) << "inside a field";
  EXPECT_EQ(error_of("1,\"2\n3,4\n"), "t.csv, line 1, column 2: a field that begins with a quote must end with one");
}

TEST(Csv, QuotesInQuotesAreCheap) {  // it would take minutes if each moved the rest of the text
  constexpr std::size_t quotes = 8'000'000;
  const Table table = parse_csv('"' + std::string(2 * quotes, '"') + "\",1\n", {.text = {{0, {}}}});
  EXPECT_EQ(table.text.at(0)[0], std::string(quotes, '"'));
}

TEST(Csv, QuotesEndAlsoInWhatIsLeftOut) {
  for (const char* text : {"\"a,1,2\n", "\"5 in.,1\n\"6 in.,2\n", "\"a,1\n\"b\",2\nc,3\n"})  // else rows would be lost
    EXPECT_EQ(error_of(text, {.skip = {0}}), "t.csv, line 1, column 1: a field that begins with a quote must end with one");
}

}  // namespace csv_test
