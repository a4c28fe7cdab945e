// Tables as a program uses them: text as categories, rows in another order, parts, columns as labels.
#include <gtest/gtest.h>

#include <gradual/gradual.hpp>

#include "../error_of.hpp"

namespace table_test {

using namespace gradual;
using Texts = std::vector<std::string>;

constexpr const char* flowers =
    "id,length,species,\"width, cm\"\n"
    "a,5.1,setosa,3.5\n"
    "\"b, second\",7.0,\"versi\"\"color\",3.2\n"
    "c, 6.3 , virginica ,\"3.3\"\n"
    "d,4.9,setosa,3.0\n";

TEST(Tables, ReadTextAsCategories) {
  const Table table = parse_csv(flowers, {.header = true, .skip = {0}, .text = {{2, {}}}});
  EXPECT_EQ(table.names, (Texts{"length", "species", "width, cm"}));
  EXPECT_EQ(table.values, (std::vector<float>{5.1f, 0, 3.5f, 7, 1, 3.2f, 6.3f, 2, 3.3f, 4.9f, 0, 3})) << "sorted";
  EXPECT_EQ(table.labels(1), (std::vector<std::int32_t>{0, 1, 2, 0}));
  const Categories& species = table.text.at(2);
  EXPECT_EQ(species.texts(), (Texts{"setosa", "versi\"color", "virginica"}));

  const Table again = parse_csv("x,1,virginica,2\n", {.skip = {0}, .text = table.text});
  EXPECT_EQ(again.values, (std::vector<float>{1, 2, 2})) << "numbered as before";
  const Table given = parse_csv("b\nc\nb\n", {.text = {{0, Categories({"c", "b", "a"})}}});
  EXPECT_EQ(given.values, (std::vector<float>{1, 0, 1})) << "in the order given";
  EXPECT_EQ(given.text.at(0).size(), 3);
}

TEST(Tables, FindTheOrderOfTextsWhateverComesFirst) {
  const TableIn<double> table = parse_csv<double>("b;2;y\na;1;x\nc;3;x\n", {.separator = ';', .text = {{0, {}}, {2, {}}}});
  EXPECT_EQ(table.values, (std::vector<double>{1, 2, 1, 0, 1, 0, 2, 3, 0}));
  EXPECT_EQ(table.text.at(0).texts(), (Texts{"a", "b", "c"}));
  const Table some = parse_csv("7,b,1\n8,a,2\n", {.skip = {2}, .text = {{1, {}}}});
  EXPECT_EQ(some.values, (std::vector<float>{7, 1, 8, 0})) << "what is left out behind it does not count";
}

TEST(Tables, RefuseTextThatIsNoneOfTheCategories) {
  const Categories species({"setosa", "virginica"});
  EXPECT_EQ(error_of<DataError>([&] { parse_csv("1,setosa\n2,rose\n", {.text = {{1, species}}}, "t.csv"); }),
            "t.csv, line 2, column 2: 'rose' is not one of 2 categories: 'setosa', 'virginica'");
  for (const std::int64_t column : {-1, 2})
    EXPECT_EQ(error_of<OptionError>([&] { parse_csv("1,a\n", {.text = {{1, {}}, {column, {}}}}); }),
              "csv: column " + std::to_string(column) +
                  " of 2 cannot be a text column; columns are counted from 0, and it must not be skipped");
  EXPECT_THROW(parse_csv("1,a\n", {.skip = {1}, .text = {{1, {}}}}), OptionError);
  EXPECT_EQ(error_of<OptionError>([&] { parse_csv("1,a\n", {.text = {{2, {}}}}); }),
            "csv: column 2 of 2 cannot be a text column; columns are counted from 0, and it must not be skipped");
  EXPECT_EQ(error_of<DataError>([&] { parse_csv("x,y\n3,a\n", {.header = true}, "t.csv"); }),
            "t.csv, line 2, column 2: 'a' is not a finite number (.text reads columns of text, .missing missing numbers)");
  EXPECT_EQ(error_of<DataError>([&] { parse_csv("1,2\n3,NA\n", {}, "t.csv"); }),
            "t.csv, line 2, column 2: 'NA' is not a finite number (.missing reads missing numbers)");
  for (const char* open : {"\"a,1\n", "\"a\"b,1\n", "\"\n", "\"a\"\"\n"})
    EXPECT_EQ(error_of<DataError>([&] { parse_csv(open, {.text = {{0, {}}}}, "t.csv"); }),
              "t.csv, line 1, column 1: a field that begins with a quote must end with one") << open;
}

TEST(Tables, ReadQuotesAmongBlanks) {
  const Table table = parse_csv("\t\"a,b\" , \" 2 \"\t,\"Hello\" world\n", {.skip = {2}, .text = {{0, {}}}});
  EXPECT_EQ(table.values, (std::vector<float>{0, 2}));
  EXPECT_EQ(table.text.at(0)[0], "a,b");
  const Table tabs = parse_csv("\"a\"\t\n\t\n", {.separator = '\t', .text = {{0, {}}, {1, {}}}});
  EXPECT_EQ(tabs.values, (std::vector<float>{1, 0, 0, 0})) << "a row of empty texts";
}

TEST(Tables, FindColumnsByName) {
  const Table table = parse_csv(flowers, {.header = true, .skip = {0}, .text = {{2, {}}}});
  EXPECT_EQ(table.column("species"), 1) << "those that are left out do not count";
  EXPECT_EQ(error_of<DataError>([&] { table.column("Species"); }),
            "table: no column is named 'Species'; there are 'length', 'species', 'width, cm'");
  EXPECT_EQ(error_of<DataError>([] { parse_csv("1\n").column("a"); }), "table: no column is named 'a'; there are none");
}

TEST(Tables, NameTheirColumnsOfText) {
  const Table table = parse_csv("a,b,1\n", {.text = {{1, {}}, {0, {}}}});
  EXPECT_EQ(error_of<DataError>([&] { table.text.at("specis"); }),
            "column 'specis' is not a text column; text columns: column 0, column 1");
  EXPECT_EQ(error_of<DataError>([] { parse_csv("1\n").text.at(0); }), "column 0 is not a text column; text columns: none");
}

TEST(Tables, AreShuffledByRows) {
  Table table = parse_csv("0,0\n1,10\n2,20\n3,30\n4,40\n");
  const std::vector<float> before = table.values;
  table.shuffle(7);
  std::vector<std::int32_t> order(5);
  shuffle(order, 7, 0);
  EXPECT_EQ(table.labels(0), order);
  EXPECT_NE(table.values, before);
  for (std::size_t row = 0; row < 5; ++row) EXPECT_EQ(table.values[2 * row + 1], 10 * table.values[2 * row]);
}

TEST(Tables, HaveRowsThatAreTaken) {
  const Table table = parse_csv(flowers, {.header = true, .skip = {0}, .text = {{2, {}}}});
  const Table fold = table.take_rows(std::vector{3, 0, 3});
  EXPECT_EQ(fold.rows, 3);
  EXPECT_EQ(fold.values, (std::vector<float>{4.9f, 0, 3, 5.1f, 0, 3.5f, 4.9f, 0, 3}));
  EXPECT_EQ(fold.names, table.names);
  EXPECT_EQ(fold.text.at(2).size(), 3);
  EXPECT_EQ(table.take_rows({}).rows, 0);
  for (const int row : {-1, 4})
    EXPECT_EQ(error_of<DataError>([&] { table.take_rows(std::vector{row}); }),
              "table: row " + std::to_string(row) + " of 4");
}

TEST(Tables, AreSplitAsDataSets) {
  const Table table = parse_csv(flowers, {.header = true, .skip = {0}, .text = {{2, {}}}});
  const auto [first, rest] = table.split(0.75);
  EXPECT_EQ(first.rows, 3);
  EXPECT_EQ(rest.rows, 1);
  EXPECT_EQ(rest.values, (std::vector<float>{4.9f, 0, 3}));
  EXPECT_EQ(rest.names, table.names);
  EXPECT_EQ(rest.text.at(2).size(), 3);
  EXPECT_EQ(error_of<DataError>([&] { table.split(0.1); }), "split: a share of 0.1 of 4 leaves one part empty");
  EXPECT_EQ(error_of<DataError>([&] { table.split(80.0); }),
            "split: a share of 80 of 4 leaves one part empty; 0.8 is 80%");
}

TEST(Tables, HaveLabelsThatAreWholeNumbers) {
  EXPECT_EQ(parse_csv("1,16777215\n").labels(1), std::vector<std::int32_t>{16777215});
  EXPECT_EQ(parse_csv<double>("2147483647\n").labels(0), std::vector<std::int32_t>{2147483647});
  for (const char* bad : {"2.5", "-1", "16777216", "1e30"})
    EXPECT_THROW(parse_csv("1\n" + std::string(bad) + '\n').labels(0), DataError) << bad;
  EXPECT_THROW(parse_csv<double>("2147483648\n").labels(0), DataError);
  EXPECT_EQ(error_of<DataError>([] { parse_csv("1,2\n1,2.5\n").labels(1); }),
            "table, row 1, column 1: 2.5 is not a label; labels are whole numbers from 0");
  EXPECT_EQ(error_of<DataError>([] { parse_csv("16777216\n").labels(0); }),
            "table, row 0, column 0: 16777216 is not a label; labels are whole numbers from 0 to 16777215 in float");
  EXPECT_EQ(error_of<DataError>([] { parse_csv<double>("2147483648\n").labels(0); }),
            "table, row 0, column 0: 2147483648 is not a label; labels are whole numbers from 0 to 2147483647");
  EXPECT_THROW(parse_csv("1\n").labels(1), DataError);
  const Table table = parse_csv("a,b,c\n1,2,0\n3,4.5,0\n", {.header = true});
  EXPECT_EQ(table.labels({"c", "a"}), (std::vector<std::int32_t>{0, 1, 0, 3}));
  EXPECT_EQ(table.labels({"a"}), table.labels("a"));
  EXPECT_EQ(error_of<DataError>([&] { table.labels({"a", "b"}); }),
            "table, row 1, column 'b': 4.5 is not a label; labels are whole numbers from 0");
}

TEST(CategoriesOfText, AreFoundByTextAndByNumber) {
  const Categories cities({"Paris", "", "Rome"});
  EXPECT_EQ(cities.number("Rome"), 2);
  EXPECT_EQ(cities.number(""), 1);
  EXPECT_EQ(cities.number("Rome", 7), 2);
  EXPECT_EQ(cities.number("rome", 7), 7);
  EXPECT_EQ(cities.number("Zurich", 7), 7);
  EXPECT_EQ(Categories().number("Rome", 7), 7);
  EXPECT_EQ(cities[0], "Paris");
  EXPECT_EQ(error_of<DataError>([&] { cities[3]; }), "category 3 of 3");
  EXPECT_EQ(error_of<DataError>([&] { cities.number("rome"); }), "'rome' is not one of 3 categories: 'Paris', '', 'Rome'");
  EXPECT_THROW(cities[-1], DataError);
  EXPECT_EQ(error_of<DataError>([] { Categories({"a", "b", "a"}); }), "categories: 'a' occurs twice");
  EXPECT_EQ(error_of<DataError>([] { Categories({"a\nb"}); }), "a category, 'a?b', has more than one line");
  std::vector<std::string> many;
  for (int i = 0; i < 11; ++i) many.push_back(std::to_string(i));
  EXPECT_TRUE(error_of<DataError>([&] { Categories(many).number("x"); }).ends_with("'9', ..."));
}

TEST(CategoriesOfText, AreKeptInAFile) {
  const Categories cities({"Paris", "", "Zürich"});
  Checkpoint file;
  cities.store(file, "city");
  EXPECT_EQ(Categories::from(file, "city").texts(), cities.texts());
  EXPECT_THROW(cities.store(file, "city"), FileError);
  file.notes["town"] = "Rome\nParis";  // written by another program
  EXPECT_EQ(Categories::from(file, "town").texts(), (Texts{"Rome", "Paris"}));
  file.notes.erase("town");
  file.path = "cities.safetensors";
  EXPECT_EQ(error_of<FileError>([&] { Categories::from(file, "town"); }).substr(0, 40),
            "cities.safetensors: the file has no note");
}

TEST(Tables, OfFloatsRoundLongNumbersWhichDoublesAndTextHold) {
  const char* const days = "20210404\n20210405\n";
  const Table rounded = parse_csv(days);
  EXPECT_EQ(rounded.values[0], rounded.values[1]);
  EXPECT_THROW(rounded.labels(0), DataError);
  EXPECT_EQ(parse_csv<double>(days).values, (std::vector<double>{20210404, 20210405}));
  EXPECT_EQ(parse_csv(days, {.text = {{0, {}}}}).text.at(0).texts(), (Texts{"20210404", "20210405"}));
}

}  // namespace table_test
