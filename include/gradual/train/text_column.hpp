#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gradual/train/categories.hpp>

namespace gradual::detail {

/// Numbers the texts of a table's column while it is read.
class TextColumn {
 public:
  /// Without given categories they are what is met. `unknown`: the number of what is none of those given.
  /// Errors: OptionError for a number that none of them has, nor the next would have.
  explicit TextColumn(const Categories& given, std::optional<std::int32_t> unknown = {}) : given_(given), unknown_(unknown) {
    if (unknown && given.size() > 0 && (*unknown < 0 || *unknown > given.size()))
      throw OptionError("csv: .unknown is " + std::to_string(*unknown) + ", where a column of text has " +
                        std::to_string(given.size()) + " categories: it is one's number, or as large as they are many");
    for (const std::string& text : given.texts()) numbers_.emplace(text, static_cast<std::int32_t>(numbers_.size()));
  }

  /// Of texts that are met a number for the time being. Errors: DataError for a text that is none of those given where none is
  /// unknown, and for more than there are whole numbers in float.
  std::int32_t number(const std::string& text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    if (given_.size() > 0) return unknown_ ? *unknown_ : given_.number(text);
    if (numbers_.size() == std::size_t{1} << 24) throw DataError("more than 2^24 different texts");
    return numbers_.emplace(text, static_cast<std::int32_t>(numbers_.size())).first->second;
  }

  /// The categories, and for each number so far the one that it has among them; no numbers where none changes.
  std::pair<Categories, std::vector<std::int32_t>> sorted() const {
    if (given_.size() > 0) return {given_, {}};
    std::vector<std::int32_t> places(numbers_.size());
    std::vector<std::string> texts;
    for (const auto& [text, number] : numbers_) {  // in order of the texts
      places[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(texts.size());
      texts.push_back(text);
    }
    return {Categories(std::move(texts)), std::move(places)};
  }

 private:
  Categories given_;
  std::optional<std::int32_t> unknown_;
  std::map<std::string, std::int32_t> numbers_;
};

}  // namespace gradual::detail
