#include <gradual/train/csv.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <gradual/core/error.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/train/csv_fields.hpp>
#include <gradual/train/text_column.hpp>

namespace gradual::detail {

/// Errors: OptionError for a column that is to be left out twice, that is not there, or that is also one of text.
[[gnu::cold]] GRADUAL_ONCE void check_columns(const CsvOptions& options, std::int64_t columns) {
  const auto& skip = options.skip;
  for (auto at = skip.begin(); at != skip.end(); ++at)
    if (*at < 0 || *at >= columns || std::find(skip.begin(), at, *at) != at)
      throw OptionError("csv: column " + std::to_string(*at) + " of " + std::to_string(columns) +
                        " is to be left out; columns are counted from 0, each once");
  for (const auto& [column, categories] : options.text)
    if (column < 0 || column >= columns || std::ranges::find(skip, column) != skip.end())
      throw OptionError("csv: column " + std::to_string(column) + " of " + std::to_string(columns) +
                        " is to be one of text; columns are counted from 0, and it must not be left out");
}

/// A column of the file, counted without those that are left out.
GRADUAL_ONCE std::int64_t column_of_table(std::int64_t column, const std::vector<std::int64_t>& skip) {
  return column - std::ranges::count_if(skip, [column](std::int64_t skipped) { return skipped < column; });
}

/// NaN where the field says that its number is missing; 0 of what is smaller than any number. Errors: DataError for what is no
/// finite number of this type; of a text, with the hint.
template <std::floating_point Real>
Real number_in_field(std::string_view field, const std::vector<std::string>& missing, const char* hint) {
  if (std::ranges::find(missing, field) != missing.end()) return std::numeric_limits<Real>::quiet_NaN();
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  double value = 0;
  const auto [last, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const auto number = static_cast<Real>(value);
  const std::string_view exponent = field.substr(std::min(field.find_first_of("eE"), field.size()));
  const bool vanishes = error == std::errc::result_out_of_range && exponent.size() > 1 && exponent[1] == '-';
  const bool read = (error == std::errc{} || vanishes) && last == field.data() + field.size();
  if (read && math::is_finite(number)) return number;
  const bool is_text = error == std::errc::invalid_argument || value != value;
  throw DataError("'" + std::string(field.substr(0, 80)) + "' is not a finite number" +
                  (is_text ? hint : read && math::is_finite(value) ? " in float" : ""));
}

}  // namespace gradual::detail

namespace gradual {

template <std::floating_point Real>
TableIn<Real> parse_csv(std::string_view text, const CsvOptions& options, const std::string& place) {
  TableIn<Real> table;
  std::map<std::int64_t, detail::TextColumn> texts;
  for (const auto& [column, given] : options.text) texts.emplace(column, detail::TextColumn(given, options.unknown));
  std::int64_t columns = options.columns;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  bool first = true, names = options.header;
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (detail::trimmed(row, options.separator).empty()) continue;
    detail::CsvFields fields(row, options.separator);
    try {
      if (std::exchange(first, false)) {
        if (columns == 0) columns = fields.count();
        detail::check_columns(options, columns);
      }
      const char* const hint = !table.values.empty() ? " (.missing reads missing numbers)"
                               : options.header      ? " (.text reads columns of text, .missing missing numbers)"
                                                     : " (.header = true reads a line of names, .text columns of text)";
      while (fields.next()) {
        const std::int64_t column = fields.column() - 1;
        fields.check_closed();  // what is left out, too
        if (std::ranges::find(options.skip, column) != options.skip.end()) continue;
        if (names) table.names.push_back(fields.unquoted());
        else if (const auto found = texts.find(column); found != texts.end())
          table.values.push_back(static_cast<Real>(found->second.number(fields.unquoted())));
        else table.values.push_back(detail::number_in_field<Real>(detail::trimmed(fields.text(), 0), options.missing, hint));
      }
      if (fields.column() != columns)
        throw DataError("the line has " + std::to_string(fields.column()) + " columns instead of " + std::to_string(columns));
    } catch (const DataError& error) {
      throw DataError(place + ", line " + std::to_string(line) + ", column " + std::to_string(fields.column()) + ": " +
                      error.what());
    }
    names = false;
  }
  table.columns = columns - std::ssize(options.skip);
  table.rows = table.columns == 0 ? 0 : static_cast<std::int64_t>(table.values.size()) / table.columns;
  if (table.rows == 0) throw DataError(place + ": no rows of numbers");
  for (const auto& [column, read] : texts) {
    const auto [categories, places] = read.sorted();
    table.text.emplace(column, categories);
    if (places.empty()) continue;
    for (std::int64_t at = detail::column_of_table(column, options.skip); at < std::ssize(table.values); at += table.columns) {
      Real& number = table.values[static_cast<std::size_t>(at)];
      number = static_cast<Real>(places[static_cast<std::size_t>(number)]);
    }
  }
  return table;
}

}  // namespace gradual
