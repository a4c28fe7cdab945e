#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace gradual::detail {

/// Returns whether c is a space, a tab, or a CR before the end of a line.
constexpr bool is_blank(char c, char separator) { return c == ' ' || c == '\r' || (c == '\t' && separator != '\t'); }

/// Returns `text` without surrounding blanks.
constexpr std::string_view trimmed(std::string_view text, char separator) {
  while (!text.empty() && is_blank(text.front(), separator)) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back(), separator)) text.remove_suffix(1);
  return text;
}

/// Returns the first row of separated values in a text, without its final line end: a quoted field may contain line ends.
std::string_view first_row(std::string_view text, char separator);

/// The fields of a row of separated values, one after another. A field that begins with a quote ends with the next quote that
/// is not doubled, and may contain separators (RFC 4180).
class CsvFields {
 public:
  CsvFields(std::string_view row, char separator) : rest_(trimmed(row, separator)), separator_(separator) {}

  /// Moves to the next field; returns false if there is none.
  bool next();

  /// Returns the number of fields not visited yet.
  std::int64_t count() const;
  /// Returns the field's column, counted from 1.
  std::int64_t column() const { return column_; }
  /// Errors: DataError for an opening quote without a closing one, or, in a field of several lines, without one at the field's
  /// end.
  void check_closed() const;
  /// Returns the field without surrounding spaces and quotes; quotes inside stay doubled. Errors: DataError for a quoted field
  /// that does not end with its closing quote.
  std::string_view text() const;
  /// Returns the same with quotes inside undoubled. Errors: as `text`.
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
