#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace gradual::detail {

/// `text` without the spaces around it, tabs and the end of a line included.
constexpr std::string_view trimmed(std::string_view text, char separator) {
  const auto is_blank = [&](char c) { return c == ' ' || c == '\r' || (c == '\t' && separator != '\t'); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// The fields of a line of separated values, one after another. One that begins with a quote ends with the next quote that is
/// not doubled, and may hold separators (RFC 4180, but for ends of lines).
class CsvFields {
 public:
  CsvFields(std::string_view line, char separator) : rest_(trimmed(line, separator)), separator_(separator) {}

  /// Goes to the next field; false where there is none.
  bool next();

  /// Of those that have not been gone to yet.
  std::int64_t count() const;
  /// The field's, from 1.
  std::int64_t column() const { return column_; }
  /// Errors: DataError for a quote that begins the field, of which another that ends it is not in the line.
  void check_closed() const;
  /// Without spaces and quotes around it; quotes in it are doubled. Errors: DataError for a quote that does not end what it
  /// begins.
  std::string_view text() const;
  /// With single quotes in it. Errors: as `text`.
  std::string unquoted() const;

 private:
  [[noreturn]] static void refuse_quote();
  /// The place of the quote that ends what stands from `at` on; past the end where there is none.
  static std::size_t closing_quote(std::string_view text, std::size_t at);

  std::string_view rest_, text_;
  char separator_;
  std::int64_t column_ = 0;
  bool more_ = true, quoted_ = false;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/csv_fields.ipp>
#endif
