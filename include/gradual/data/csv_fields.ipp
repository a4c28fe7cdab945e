#pragma once
#include <gradual/data/csv_fields.hpp>

#include <algorithm>
#include <cstddef>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>

namespace gradual::detail {

/// Returns the place of the quote that closes the text from `at` on; the text's size if there is none.
inline std::size_t closing_quote(std::string_view text, std::size_t at) {
  at = text.find('"', at);
  while (at != text.npos && text.substr(at + 1).starts_with('"')) at = text.find('"', at + 2);
  return std::min(at, text.size());
}

GRADUAL_ONCE std::string_view first_row(std::string_view text, char separator) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.find('"') == line.npos) return line;
  const char ends[] = {separator, '\n', '\0'};
  for (std::size_t at = 0; at < text.size(); ++at) {
    while (at < text.size() && is_blank(text[at], separator)) ++at;
    if (text.substr(at).starts_with('"')) at = closing_quote(text, at + 1);
    at = text.find_first_of(ends, at);
    if (at == text.npos || text[at] == '\n') return text.substr(0, at);
  }
  return text;
}

GRADUAL_ONCE bool CsvFields::next() {
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

GRADUAL_ONCE std::int64_t CsvFields::count() const {
  CsvFields rest = *this;
  while (rest.next()) {}
  return rest.column_ - column_;
}

GRADUAL_ONCE void CsvFields::check_closed() const {
  const std::size_t close = quoted_ ? closing_quote(text_, 1) : 0;
  const bool holds_lines = text_.find('\n') != text_.npos;  // perhaps those of other rows, up to the next row's quote
  if (quoted_ && (close == text_.size() || (holds_lines && close + 1 != text_.size()))) refuse_quote();
}

GRADUAL_ONCE std::string_view CsvFields::text() const {
  if (!quoted_) return text_;
  if (closing_quote(text_, 1) + 1 != text_.size()) refuse_quote();
  return text_.substr(1, text_.size() - 2);
}

GRADUAL_ONCE std::string CsvFields::unquoted() const {
  const std::string_view all = text();
  if (!quoted_) return std::string(all);
  std::string result;
  for (std::size_t at = 0; at < all.size(); at += all[at] == '"' ? 2 : 1) result += all[at];
  return result;
}

GRADUAL_ONCE void CsvFields::refuse_quote() {
  throw DataError("a field that begins with a quote must end with one");
}

}  // namespace gradual::detail
