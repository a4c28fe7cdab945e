#pragma once
#include <gradual/data/csv.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

#include <gradual/core/brief_text.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/data/csv_fields.hpp>
#include <gradual/data/text_column.hpp>

namespace gradual::detail {

/// Checks options for errors that do not depend on the file. Errors: OptionError.
inline void check_options(const CsvOptions& options) {
  if (options.columns < 0) throw OptionError("csv: " + std::to_string(options.columns) + " columns");
  if (std::string_view("\0\r\n\"+-.0123456789eE", 18).find(options.separator) != std::string_view::npos)
    throw OptionError("csv: a .separator that occurs in numbers, quotes or line ends: '" +
                      brief_text({&options.separator, 1}) + "'");
  if (options.decimal != '.' && options.decimal != ',')
    throw OptionError("csv: .decimal is '" + brief_text({&options.decimal, 1}) + "': it must be a point or a comma");
  if (options.thousands == options.decimal ||
      std::string_view("\r\n\"+-0123456789eE").find(options.thousands) != std::string_view::npos)
    throw OptionError("csv: a .thousands that occurs in numbers, quotes or line ends: '" +
                      brief_text({&options.thousands, 1}) + "'");
  if (!options.names.empty() && (options.header || options.columns != 0))
    throw OptionError("csv: .names are those of all columns: with them, leave out .header and .columns");
  const auto check = [&](const TableColumn& column) {
    if (column.is_named() && !options.header && options.names.empty())
      throw OptionError("csv: the name of " + column.text() + " is unknown: .header = true reads names, .names gives them");
  };
  for (const TableColumn& column : options.skip) check(column);
  for (const auto& [column, given] : options.text) check(column);
  for (const auto& [column, number] : options.unknown) check(column);
  for (const std::string& mark : options.missing)
    if (trimmed(mark, 0) != mark || (mark.size() > 1 && mark.starts_with('"') && mark.ends_with('"')))
      throw OptionError("csv: .missing has '" + brief_text(mark) +
                        "', but fields are read without blanks and quotes around them");
}

/// Returns whether a line ends with CR outside quotes.
constexpr bool has_cr_alone(std::string_view text) {
  bool quoted = false;
  for (const char c : text) {
    quoted = quoted != (c == '"');
    if (c == '\r' && !quoted) return true;
  }
  return false;
}

/// Errors: OptionError for a number of unknown texts that a column with so many given categories cannot have.
inline void check_unknown(const TableColumn& column, std::int64_t number, std::int64_t categories) {
  if (categories == 0)
    throw OptionError("csv: .unknown has " + column.text() +
                      ", but .text gives it no categories: without them no text is unknown");
  if (number < 0 || number > categories)
    throw OptionError("csv: .unknown of " + column.text() + " is " + std::to_string(number) + ", but there are " +
                      std::to_string(categories) + " categories: it must be from 0 to that number");
}

/// The options' columns, by their places in the file.
struct CsvPlaces {
  struct Text {
    TableColumn asked;
    TextColumn read;
  };
  std::vector<std::int64_t> skip = {};
  std::map<std::int64_t, Text> text = {};
  std::map<std::int64_t, std::int64_t> unknown = {};  ///< a text column's number

  /// `names`: those of the columns of the file `of`, if any. Errors: DataError for missing or repeated names; OptionError for a
  /// column to skip that is given twice or does not exist, a text column that is given twice, does not exist or is skipped, or
  /// an `unknown` that is given twice, has no categories or is out of their range.
  CsvPlaces(const CsvOptions& options, const std::vector<std::string>& names, std::int64_t columns, const std::string& of) {
    const auto refuse = [&](const TableColumn& column, const char* why) {
      throw OptionError(of + ": " + column.text() + " of " + std::to_string(columns) + " cannot be " + why);
    };
    for (const TableColumn& column : options.skip) {
      const std::int64_t place = column.place_among(names, of);
      if (place < 0 || place >= columns || skips(place)) refuse(column, "skipped; columns are counted from 0, each named once");
      skip.push_back(place);
    }
    const auto is_absent = [&](const TableColumn& column) {  // of the table whose categories are given
      return options.text.of_table && (!column.is_among(names, columns) || skips(column.place_among(names, of)));
    };
    const auto is_left_out = [&](const TableColumn& column) {
      return is_absent(column) && (column.is_among(names, columns) || options.text.contains(column));
    };
    for (const auto& [column, number] : options.unknown)
      if (!is_left_out(column) && !unknown.emplace(column.place_among(names, of), number).second)
        refuse(column, "given two numbers in .unknown");
    for (const auto& [column, given] : options.text) {
      if (is_absent(column)) continue;
      const std::int64_t place = column.place_among(names, of);
      if (place < 0 || place >= columns || skips(place))
        refuse(column, "a text column; columns are counted from 0, and it must not be skipped");
      const auto number = unknown.find(place);
      if (number != unknown.end()) check_unknown(column, number->second, given.size());
      const TextColumn read(given, number == unknown.end() ? std::nullopt : std::optional(number->second));
      if (!text.try_emplace(place, Text{column, read}).second) refuse(column, "a text column twice");
    }
    for (const auto& [column, number] : options.unknown)
      if (!is_left_out(column) && !text.contains(column.place_among(names, of))) check_unknown(column, number, 0);
  }
  bool skips(std::int64_t column) const { return std::ranges::find(skip, column) != skip.end(); }
  /// Returns a column's place among those that are not skipped.
  std::int64_t kept(std::int64_t column) const {
    return column - std::ranges::count_if(skip, [column](std::int64_t skipped) { return skipped < column; });
  }
};

/// Returns the character after the number that begins the field if it is another common separator, which the file's lines may
/// use; otherwise 0.
constexpr char other_separator(std::string_view field, const char* number_end, char separator) {
  for (const char other : {';', '\t', '|', ','})
    if (other != separator && number_end > field.data() && number_end < field.data() + field.size() && *number_end == other)
      return other;
  return 0;
}

/// Returns whether a number outside double's range is too small rather than too large.
inline bool vanishes(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::size_t point = std::min(number.find('.'), e), first = number.find_first_of("123456789");
  std::string_view exponent = number.substr(std::min(e + 1, number.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), power).ec == std::errc::result_out_of_range)
    return exponent.starts_with('-');
  return power < static_cast<std::int64_t>(first) - static_cast<std::int64_t>(point);
}

/// Returns a number, which may begin with a plus, for `from_chars`.
constexpr std::string_view without_plus(std::string_view number) {
  if (number.size() > 1 && number[0] == '+' && number[1] != '-') number.remove_prefix(1);
  return number;
}

/// Returns whether the marks of numbers differ from those that `from_chars` reads.
inline bool has_own_marks(const CsvOptions& options) { return options.decimal != '.' || options.thousands != 0; }

/// Rewrites a number with these marks for `from_chars`; none if a group lacks three digits or a mark is wrong or misplaced.
inline std::optional<std::string> plain_number(std::string_view field, const CsvOptions& options) {
  std::string plain;
  bool grouped = false, ended = false;  // the whole part
  int digits = 0;  // in the current group
  for (const char c : field) {
    if (!ended && (c == options.decimal || c == 'e' || c == 'E')) {
      if (grouped && digits != 3) return {};
      ended = true, plain += c == options.decimal ? '.' : c;
    } else if (options.thousands != 0 && c == options.thousands && !ended) {
      if (grouped ? digits != 3 : digits < 1 || digits > 3) return {};
      grouped = true, digits = 0;
    } else if (c == '.' || c == options.decimal || (options.thousands != 0 && c == options.thousands)) {
      return {};
    } else {
      digits += c >= '0' && c <= '9', plain += c;
    }
  }
  if (grouped && !ended && digits != 3) return {};
  return plain;
}

/// Returns the number that is the whole text, in double even for floats: others that round to the same float differ from it.
inline std::optional<double> double_in(std::string_view text, const CsvOptions& options) {
  const std::string plain = has_own_marks(options) ? plain_number(text, options).value_or("") : std::string(text);
  const std::string_view digits = without_plus(plain);
  double number = 0;
  const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && last == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
}

/// Marks of missing numbers: texts, and numbers however they are written.
class MissingMarks {
 public:
  explicit MissingMarks(const CsvOptions& options) : options_(options) {
    for (const std::string& text : options.missing)
      if (const std::optional<double> number = double_in(text, options)) numbers_.push_back(*number);
  }
  bool contains(std::string_view field) const {
    if (std::ranges::find(options_.missing, field) != options_.missing.end()) return true;
    if (numbers_.empty()) return false;
    const std::optional<double> number = double_in(field, options_);
    return number && std::ranges::find(numbers_, *number) != numbers_.end();
  }

 private:
  const CsvOptions& options_;
  std::vector<double> numbers_;
};

/// Returns the field's number, 0 if too small for any. Errors: DataError if not a finite Real; for texts, with the hint.
template <std::floating_point Real>
Real number_in_field(const std::string_view written, const CsvOptions& options, const char* hint) {
  std::string_view field = written;
  const std::optional<std::string> plain = has_own_marks(options) ? plain_number(written, options) : std::nullopt;
  if (plain) field = *plain;
  else if (has_own_marks(options) && written.find_first_of("0123456789") != written.npos)
    throw DataError("'" + brief_text(written) + "' is not a finite number (.decimal = '" + std::string(1, options.decimal) +
                    (options.thousands == 0 ? "', and no .thousands)"
                                            : "', .thousands = '" + brief_text({&options.thousands, 1}) + "')"));
  field = without_plus(field);
  const char* const end = field.data() + field.size();
  Real number = 0;
  if (const auto [last, error] = std::from_chars(field.data(), end, number);
      error == std::errc{} && last == end && math::is_finite(number))
    return number;
  double value = 0;  // also outside Real's range
  const auto [last, error] = std::from_chars(field.data(), end, value);
  number = static_cast<Real>(value);
  const bool read = last == end && (error == std::errc{} || (error == std::errc::result_out_of_range && vanishes(field)));
  if (read && math::is_finite(number)) return number;
  const bool is_text = error == std::errc::invalid_argument || value != value;
  if (const char other = other_separator(field, last, options.separator); other != 0)
    throw DataError("'" + brief_text(written) + "' is not a finite number (.separator = '" +
                    (other == '\t' ? std::string("\\t") : std::string(1, other)) + "' reads columns separated by it" +
                    (other == ',' ? ", .decimal = ',' decimal commas)" : ")"));
  throw DataError("'" + brief_text(written) + "' is not a finite number" +
                  (is_text                          ? hint
                   : last != end && *last == ','    ? " (.decimal = ',' reads decimal commas)"
                   : last != end                    ? " (.text reads columns of text, .skip leaves columns out)"
                   : read && math::is_finite(value) ? " in float"
                                                    : ""));
}

/// Gives a table that was read the categories of its text columns, and their sorted numbers.
template <std::floating_point Real>
void add_categories(TableIn<Real>& table, const CsvPlaces& places) {
  table.text.of_table = true;
  for (const auto& [at, column] : places.text) {
    const auto [categories, numbers] = column.read.sorted();
    table.text.emplace(column.asked, categories);
    if (numbers.empty()) continue;
    for (std::int64_t i = places.kept(at); i < std::ssize(table.values); i += table.columns) {
      Real& number = table.values[static_cast<std::size_t>(i)];
      number = static_cast<Real>(numbers[static_cast<std::size_t>(number)]);
    }
  }
}

}  // namespace gradual::detail

namespace gradual {

template <std::floating_point Real>
TableIn<Real> parse_csv(std::string_view text, const CsvOptions& options, const std::string& place) {
  detail::check_options(options);
  if (text.find('\n') == text.npos && detail::has_cr_alone(detail::trimmed(text, options.separator)))
    throw DataError(place + ": its lines end with CR alone: end them with LF, as `tr '\\r' '\\n'` does");
  const detail::MissingMarks missing(options);
  const auto number_in = [&](std::string_view field, const char* hint) {
    return missing.contains(field) ? std::numeric_limits<Real>::quiet_NaN()
                                   : detail::number_in_field<Real>(field, options, hint);
  };
  TableIn<Real> table;
  table.names = options.names;
  std::optional<detail::CsvPlaces> places;
  std::int64_t columns = options.names.empty() ? options.columns : std::ssize(options.names);
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) throw DataError(place + ": is UTF-16: save it as UTF-8");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::int64_t line = 1, lines; !text.empty(); line += lines) {
    const std::string_view row = detail::first_row(text, options.separator);
    lines = 1 + std::ranges::count(row, '\n');
    text.remove_prefix(std::min(row.size() + 1, text.size()));
    if (detail::trimmed(row, options.separator).empty()) continue;
    detail::CsvFields fields(row, options.separator);
    try {
      const bool names = options.header && !places;
      if (columns == 0) columns = fields.count();
      if (!options.header && !places) places.emplace(options, table.names, columns, place);
      const char* const hint = !table.values.empty() ? " (.missing reads missing numbers)"
                               : options.header      ? " (.text reads columns of text, .missing missing numbers)"
                                                     : " (.header = true reads a line of names, .text columns of text)";
      while (fields.next()) {
        const std::int64_t column = fields.column() - 1;
        fields.check_closed();  // also in skipped columns
        if (names) {
          table.names.push_back(fields.unquoted());
        } else if (places->skips(column)) {
          continue;
        } else if (const auto found = places->text.find(column); found != places->text.end()) {
          table.values.push_back(static_cast<Real>(found->second.read.number(fields.unquoted())));
        } else {
          table.values.push_back(number_in(detail::trimmed(fields.text(), 0), hint));
        }
      }
      if (fields.column() != columns)
        throw DataError("the line has " + std::to_string(fields.column()) + " columns instead of " + std::to_string(columns));
    } catch (const DataError& error) {
      throw DataError(place + ", line " + std::to_string(line) + ", column " + std::to_string(fields.column()) + ": " +
                      error.what());
    }
    if (!places) places.emplace(options, table.names, columns, place);
  }
  table.columns = columns - std::ssize(options.skip);
  table.rows = table.columns == 0 ? 0 : static_cast<std::int64_t>(table.values.size()) / table.columns;
  if (table.rows == 0) throw DataError(place + ": no rows of numbers");
  for (std::int64_t column = std::ssize(table.names); column-- > 0;)
    if (places->skips(column)) table.names.erase(table.names.begin() + column);
  detail::add_categories(table, *places);
  return table;
}

}  // namespace gradual
