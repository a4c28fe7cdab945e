#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <gradual/core/error.hpp>

namespace gradual::detail {

/// The fields of a line of separated values, one after another. One that begins with a quote ends with the next quote that is
/// not doubled, and may hold separators (RFC 4180, but for ends of lines).
class CsvFields {
 public:
  CsvFields(std::string_view line, char separator) : rest_(line), separator_(separator) {}

  /// Goes to the next field; false where there is none. Errors: DataError for a quote that does not end what it begins.
  bool next() {
    if (!more_) return false;
    ++column_;
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    quoted_ = rest_.starts_with('"');
    const std::size_t close = quoted_ ? closing_quote() : 0;
    const std::size_t end = rest_.find(separator_, std::min(close, rest_.size()));
    text_ = trimmed(rest_.substr(0, end));
    if (quoted_ && close + 1 != text_.size())
      throw DataError("a field that begins with a quote must end with one, in the same line");
    if (quoted_) text_ = text_.substr(1, close - 1);
    more_ = end != rest_.npos;
    rest_.remove_prefix(more_ ? end + 1 : rest_.size());
    return true;
  }

  /// The field's, from 1.
  std::int64_t column() const { return column_; }
  /// Without spaces and quotes around it; quotes in it are doubled.
  std::string_view text() const { return text_; }
  /// With single quotes in it.
  std::string unquoted() const {
    std::string result(text_);
    if (quoted_)
      for (std::size_t at = 0; (at = result.find("\"\"", at)) != result.npos; ++at) result.erase(at, 1);
    return result;
  }

  static constexpr std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
    return text;
  }

 private:
  std::size_t closing_quote() const {
    std::size_t at = rest_.find('"', 1);
    while (at != rest_.npos && rest_.substr(at + 1).starts_with('"')) at = rest_.find('"', at + 2);
    return at;
  }

  std::string_view rest_, text_;
  char separator_;
  std::int64_t column_ = 0;
  bool more_ = true, quoted_ = false;
};

}  // namespace gradual::detail
