#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/data/categories_by_column.hpp>
#include <gradual/data/count_in.hpp>
#include <gradual/data/shuffled_rows.hpp>
#include <gradual/data/table_column.hpp>

namespace gradual {

/// Numbers in rows and columns, row-major.
template <std::floating_point Real>
struct TableIn {
  std::int64_t rows = 0, columns = 0;
  std::vector<Real> values;
  std::vector<std::string> names;  ///< of the columns, if the file had them
  /// The categories of text columns, by the columns as `CsvOptions::text` named them.
  CategoriesByColumn text = {};

  /// Returns the place of the column of this name. Errors: DataError if none has it, or more than one.
  std::int64_t column(std::string_view name) const { return TableColumn(name).place_among(names, "table"); }

  /// Returns columns [first, last) of every row, row-major. Errors: DataError for columns that do not exist.
  std::vector<Real> take(std::int64_t first, std::int64_t last) const {
    if (first < 0 || first > last || last > columns)
      throw DataError("table: columns [" + std::to_string(first) + ", " + std::to_string(last) + ") of " +
                      std::to_string(columns));
    std::vector<Real> taken;
    taken.reserve(static_cast<std::size_t>(rows * (last - first)));
    for (auto row = values.begin(); row != values.end(); row += columns) taken.insert(taken.end(), row + first, row + last);
    return taken;
  }

  /// Returns these columns of every row, in this order, row-major: `table.take({"width", "height"})`. Errors: DataError for a
  /// column that does not exist, or a name that several columns have.
  std::vector<Real> take(const std::vector<TableColumn>& which) const {
    std::vector<std::int64_t> places;
    for (const TableColumn& column : which) {
      places.push_back(column.place_among(names, "table"));
      if (places.back() < 0 || places.back() >= columns)
        throw DataError("table: " + column.text() + " of " + std::to_string(columns));
    }
    std::vector<Real> taken;
    taken.reserve(static_cast<std::size_t>(rows) * which.size());
    for (auto row = values.begin(); row != values.end(); row += columns)
      for (const std::int64_t place : places) taken.push_back(row[place]);
    return taken;
  }

  /// Returns a column as labels, or as indices of an embedding. Errors: DataError for a column that does not exist, or a value
  /// that is not a whole number from 0 that Real distinguishes from the next and std::int32_t holds.
  template <std::convertible_to<TableColumn> Column>
  std::vector<std::int32_t> labels(const Column& which) const {
    return labels(std::vector<TableColumn>{which});
  }
  /// The same for several columns, row-major: `table.labels({"kind", "colour"})` is an input `i32[2]`.
  std::vector<std::int32_t> labels(const std::vector<TableColumn>& which) const {
    std::vector<std::int32_t> labels;
    for (const Real value : take(which)) {
      if (!(value >= 0 && value < most_labels) || static_cast<Real>(static_cast<std::int32_t>(value)) != value)
        throw DataError("table, row " + std::to_string(labels.size() / which.size()) + ", " +
                        which[labels.size() % which.size()].text() + ": " + detail::exact_text(value) +
                        " is not a label; labels are whole numbers from 0" + (value >= most_labels ? most() : ""));
      labels.push_back(static_cast<std::int32_t>(value));
    }
    return labels;
  }

  /// Returns these rows, in this order, such as those of one fold. Errors: DataError for a row that does not exist.
  TableIn take_rows(std::span<const std::int32_t> which) const {
    TableIn taken{std::ssize(which), columns, {}, names, text};
    taken.values.reserve(static_cast<std::size_t>(taken.rows * columns));
    for (const std::int32_t row : which) {
      if (row < 0 || row >= rows) throw DataError("table: row " + std::to_string(row) + " of " + std::to_string(rows));
      const auto begin = values.begin() + row * columns;
      taken.values.insert(taken.values.end(), begin, begin + columns);
    }
    return taken;
  }

  /// Shuffles the rows into an order that depends only on `seed` and their number.
  /// Errors: DataError for 2³¹ rows or more.
  void shuffle(std::uint64_t seed) {
    values = take_rows(detail::shuffled_rows(rows, seed)).values;
  }

  /// Returns the first `share` of the rows, and the rest, like `Dataset::split`. Errors: DataError if one part would be empty.
  template <std::floating_point Share>
  std::pair<TableIn, TableIn> split(Share share) const {
    const std::int64_t first = detail::count_in(share, rows);
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return TableIn{end - begin, columns, {values.begin() + begin * columns, values.begin() + end * columns}, names, text};
    };
    return {part(0, first), part(first, rows)};
  }

 private:
  /// Every whole number below this is exact in Real and fits std::int32_t.
  static constexpr Real most_labels = Real(std::int64_t{1} << std::min(std::numeric_limits<Real>::digits, 31));
  static std::string most() {
    const char* const type = std::is_same_v<Real, float> ? " in float" : "";
    return " to " + std::to_string(static_cast<std::int64_t>(most_labels) - 1) + type;
  }
};
using Table = TableIn<float>;

}  // namespace gradual
