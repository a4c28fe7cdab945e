#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace gradual::detail {

/// Spaces, tabs and what may stand before the end of a line.
constexpr bool is_blank(char c, char separator) { return c == ' ' || c == '\r' || (c == '\t' && separator != '\t'); }

/// `text` without the blanks around it.
constexpr std::string_view trimmed(std::string_view text, char separator) {
  while (!text.empty() && is_blank(text.front(), separator)) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back(), separator)) text.remove_suffix(1);
  return text;
}

/// The first row of separated values in a text, without the end of its last line: a field in quotes may hold ends of lines.
std::string_view first_row(std::string_view text, char separator);

/// The fields of a row of separated values, one after another. One that begins with a quote ends with the next quote that is
/// not doubled, and may hold separators (RFC 4180).
class CsvFields {
 public:
  CsvFields(std::string_view row, char separator) : rest_(trimmed(row, separator)), separator_(separator) {}

  /// Goes to the next field; false where there is none.
  bool next();

  /// Number of fields not visited yet.
  std::int64_t count() const;
  /// The field's, from 1.
  std::int64_t column() const { return column_; }
  /// Errors: DataError for a quote that begins the field, that no other ends, or none at the end of a field of several
  /// lines.
  void check_closed() const;
  /// Without spaces and quotes around it; quotes in it are doubled. Errors: DataError for a quote that does not end what it
  /// begins.
  std::string_view text() const;
  /// With single quotes in it. Errors: as `text`.
  std::string unquoted() const;

 private:
  [[noreturn]] static void refuse_quote();

  std::string_view rest_, text_;
  char separator_;
  std::int64_t column_ = 0;
  bool more_ = true, quoted_ = false;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/csv_fields.ipp>
#endif
