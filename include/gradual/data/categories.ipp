#pragma once
#include <gradual/data/categories.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <gradual/core/brief_text.hpp>
#include <gradual/core/error.hpp>
#include <gradual/files/is_utf8.hpp>

namespace gradual {

GRADUAL_ONCE Categories::Categories(std::vector<std::string> texts) : texts_(std::move(texts)), sorted_(texts_.size()) {
  const auto text_of = [this](std::int32_t number) -> const std::string& { return texts_[static_cast<std::size_t>(number)]; };
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::ranges::sort(sorted_, {}, text_of);
  if (const auto twice = std::ranges::adjacent_find(sorted_, {}, text_of); twice != sorted_.end())
    throw DataError("categories: '" + detail::brief_text(text_of(*twice)) + "' occurs twice");
  for (const std::string& text : texts_) check(text);
}

GRADUAL_ONCE void Categories::check(std::string_view text) {
  if (text.find('\n') != text.npos) throw DataError("a category, '" + detail::brief_text(text) + "', has more than one line");
  if (!detail::is_utf8(text)) throw DataError("a category, '" + detail::brief_text(text) + "', is not UTF-8");
}

GRADUAL_ONCE std::int32_t Categories::number(std::string_view text) const {
  const std::int32_t found = number(text, -1);
  if (found < 0) throw DataError("'" + detail::brief_text(text) + "' is not one of " + listed());
  return found;
}
GRADUAL_ONCE std::int32_t Categories::number(std::string_view text, std::int32_t otherwise) const {
  const auto text_of = [this](std::int32_t n) -> std::string_view { return texts_[static_cast<std::size_t>(n)]; };
  const auto found = std::ranges::lower_bound(sorted_, text, {}, text_of);
  return found != sorted_.end() && text_of(*found) == text ? *found : otherwise;
}

GRADUAL_ONCE const std::string& Categories::operator[](std::int64_t number) const {
  if (number < 0 || number >= size())
    throw DataError("category " + std::to_string(number) + " of " + std::to_string(size()));
  return texts_[static_cast<std::size_t>(number)];
}

GRADUAL_ONCE void Categories::store(Checkpoint& file, const std::string& name) const {
  std::string lines;
  for (const std::string& text : texts_) lines += text + '\n';
  if (!file.notes.emplace(name, std::move(lines)).second) throw FileError("the file already has a note '" + name + "'");
}

GRADUAL_ONCE Categories Categories::from(const Checkpoint& file, const std::string& name) {
  return detail::in_file(file, [&] {
    std::vector<std::string> texts;
    std::string_view rest = file.note(name);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      texts.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return Categories(std::move(texts));
  });
}

GRADUAL_ONCE std::string Categories::listed() const {
  std::string list = std::to_string(size()) + " categories";
  for (std::size_t i = 0; i < texts_.size() && i < 10; ++i)
    list += (i == 0 ? ": '" : ", '") + detail::brief_text(texts_[i]) + "'";
  return list + (texts_.size() > 10 ? ", ..." : "");
}

}  // namespace gradual
