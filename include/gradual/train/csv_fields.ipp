#pragma once
#include <gradual/train/csv_fields.hpp>

#include <algorithm>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>

namespace gradual::detail {

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
  if (quoted_ && closing_quote(text_, 1) == text_.size()) refuse_quote();
}

GRADUAL_ONCE std::string_view CsvFields::text() const {
  if (!quoted_) return text_;
  if (closing_quote(text_, 1) + 1 != text_.size()) refuse_quote();
  return text_.substr(1, text_.size() - 2);
}

GRADUAL_ONCE std::string CsvFields::unquoted() const {
  std::string result(text());
  if (quoted_)
    for (std::size_t at = 0; (at = result.find("\"\"", at)) != result.npos; ++at) result.erase(at, 1);
  return result;
}

GRADUAL_ONCE void CsvFields::refuse_quote() {
  throw DataError("a field that begins with a quote must end with one, in the same line");
}

GRADUAL_ONCE std::size_t CsvFields::closing_quote(std::string_view text, std::size_t at) {
  at = text.find('"', at);
  while (at != text.npos && text.substr(at + 1).starts_with('"')) at = text.find('"', at + 2);
  return std::min(at, text.size());
}

}  // namespace gradual::detail
