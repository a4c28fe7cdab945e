#pragma once
#include <gradual/data/text_column.hpp>

namespace gradual::detail {

GRADUAL_ONCE TextColumn::TextColumn(const Categories& given, std::optional<std::int64_t> unknown)
    : given_(given), unknown_(unknown) {}

GRADUAL_ONCE std::int32_t TextColumn::number(const std::string& text) {
  if (given_.size() > 0)
    return unknown_ ? given_.number(text, static_cast<std::int32_t>(*unknown_)) : given_.number(text);
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  Categories::check(text);
  if (numbers_.size() == std::size_t{1} << 24) throw DataError("more than 2^24 different texts");
  return numbers_.emplace(text, static_cast<std::int32_t>(numbers_.size())).first->second;
}

GRADUAL_ONCE std::pair<Categories, std::vector<std::int32_t>> TextColumn::sorted() const {
  if (given_.size() > 0) return {given_, {}};
  std::vector<std::int32_t> places(numbers_.size());
  std::vector<std::string> texts;
  for (const auto& [text, number] : numbers_) {  // in order of the texts
    places[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(texts.size());
    texts.push_back(text);
  }
  return {Categories(std::move(texts)), std::move(places)};
}

}  // namespace gradual::detail
