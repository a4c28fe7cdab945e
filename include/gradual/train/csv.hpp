#pragma once
#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/train/read_file.hpp>

namespace gradual {

struct CsvOptions {
  std::int64_t columns = 0;  ///< what every line must have; 0: as many as the first line
  bool header = false;       ///< the first line holds names
  char separator = ',';
  std::vector<std::int64_t> skip = {};  ///< columns, counted from 0, that are left out: dates, text
};

/// Numbers in rows and columns, row-major.
template <std::floating_point Real>
struct TableIn {
  std::int64_t rows = 0, columns = 0;
  std::vector<Real> values;
  std::vector<std::string> names;

  /// Columns [first, last) of every row, row-major. Errors: DataError for columns that there are not.
  std::vector<Real> take(std::int64_t first, std::int64_t last) const {
    if (first < 0 || first > last || last > columns)
      throw DataError("table: columns [" + std::to_string(first) + ", " + std::to_string(last) + ") of " +
                      std::to_string(columns));
    std::vector<Real> taken;
    for (auto row = values.begin(); row != values.end(); row += columns) taken.insert(taken.end(), row + first, row + last);
    return taken;
  }
};
using Table = TableIn<float>;

namespace detail {
constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Errors: OptionError for a column that is to be left out twice, or that is not there.
[[gnu::cold]] inline void check_skipped(const std::vector<std::int64_t>& skip, std::int64_t columns) {
  for (auto at = skip.begin(); at != skip.end(); ++at)
    if (*at < 0 || *at >= columns || std::find(skip.begin(), at, *at) != at)
      throw OptionError("csv: column " + std::to_string(*at) + " of " + std::to_string(columns) +
                        " is to be left out; columns are counted from 0, each once");
}
}  // namespace detail

/// Reads separated numbers with a decimal point, whatever the locale; spaces around them, lines without anything and a byte
/// order mark are passed over. `place` names the text in errors. Real: float or double.
/// Errors: DataError with place, line and column: a field that is not a finite number, another count of columns, no rows;
/// OptionError for columns to skip that there are not.
template <std::floating_point Real = float>
[[gnu::cold]] TableIn<Real> parse_csv(std::string_view text, const CsvOptions& options = {}, const std::string& place = "csv") {
  TableIn<Real> table;
  std::int64_t columns = options.columns;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  bool names = options.header;
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    std::string_view row = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (detail::trimmed(row).empty()) continue;
    const auto here = [&](std::int64_t column) {
      return place + ", line " + std::to_string(line) + ", column " + std::to_string(column) + ": ";
    };
    std::int64_t column = 0;
    for (bool more = true; more;) {
      const std::size_t next = row.find(options.separator);
      std::string_view field = detail::trimmed(row.substr(0, next));
      more = next != row.npos;
      row.remove_prefix(more ? next + 1 : row.size());
      if (std::ranges::find(options.skip, column++) != options.skip.end()) continue;
      if (names) {
        if (field.size() > 1 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
        table.names.emplace_back(field);
        continue;
      }
      double value = 0;
      const auto [last, error] = std::from_chars(field.data(), field.data() + field.size(), value);
      const auto number = static_cast<Real>(value);
      if (error != std::errc{} || last != field.data() + field.size() || !math::is_finite(number))
        throw DataError(
            here(column) + "'" + std::string(field.substr(0, 80)) + "' is not a finite number" +
            (line == 1 && error == std::errc::invalid_argument ? " (a first line of names is read with .header = true)" : ""));
      table.values.push_back(number);
    }
    names = false;
    if (columns == 0) columns = column;
    if (column != columns)
      throw DataError(here(column) + "the line has " + std::to_string(column) + " columns instead of " +
                      std::to_string(columns));
  }
  if (columns > 0) detail::check_skipped(options.skip, columns);
  table.columns = columns - std::ssize(options.skip);
  table.rows = table.columns == 0 ? 0 : static_cast<std::int64_t>(table.values.size()) / table.columns;
  if (table.rows == 0) throw DataError(place + ": no rows of numbers");
  return table;
}

/// The same from a file. Errors: FileError where it cannot be read; MemoryError.
template <std::floating_point Real = float>
[[gnu::cold]] TableIn<Real> read_csv(const std::string& path, const CsvOptions& options = {}) {
  return or_memory_error("reading numbers", [&] { return parse_csv<Real>(read_file(path), options, path); });
}

}  // namespace gradual
