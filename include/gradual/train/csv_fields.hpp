#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <gradual/core/error.hpp>

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
  bool next() {
    if (!more_) return false;
    ++column_;
    rest_ = trimmed(rest_, separator_);
    quoted_ = rest_.starts_with('"');
    const std::size_t close = quoted_ ? closing_quote(rest_, 1) : 0, end = rest_.find(separator_, close);
    text_ = trimmed(rest_.substr(0, end), separator_);
    more_ = end != rest_.npos;
    rest_.remove_prefix(more_ ? end + 1 : rest_.size());
    return true;
  }

  /// Of those that have not been gone to yet.
  std::int64_t count() const {
    CsvFields rest = *this;
    while (rest.next()) {}
    return rest.column_ - column_;
  }
  /// The field's, from 1.
  std::int64_t column() const { return column_; }
  /// Errors: DataError for a quote that begins the field, of which another that ends it is not in the line.
  void check_closed() const {
    if (quoted_ && closing_quote(text_, 1) == text_.size()) refuse_quote();
  }
  /// Without spaces and quotes around it; quotes in it are doubled. Errors: DataError for a quote that does not end what it
  /// begins.
  std::string_view text() const {
    if (!quoted_) return text_;
    if (closing_quote(text_, 1) + 1 != text_.size()) refuse_quote();
    return text_.substr(1, text_.size() - 2);
  }
  /// With single quotes in it. Errors: as `text`.
  std::string unquoted() const {
    std::string result(text());
    if (quoted_)
      for (std::size_t at = 0; (at = result.find("\"\"", at)) != result.npos; ++at) result.erase(at, 1);
    return result;
  }

 private:
  [[noreturn]] static void refuse_quote() {
    throw DataError("a field that begins with a quote must end with one, in the same line");
  }
  /// The place of the quote that ends what stands from `at` on; past the end where there is none.
  static std::size_t closing_quote(std::string_view text, std::size_t at) {
    at = text.find('"', at);
    while (at != text.npos && text.substr(at + 1).starts_with('"')) at = text.find('"', at + 2);
    return std::min(at, text.size());
  }

  std::string_view rest_, text_;
  char separator_;
  std::int64_t column_ = 0;
  bool more_ = true, quoted_ = false;
};

}  // namespace gradual::detail
