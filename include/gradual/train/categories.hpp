#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/train/checkpoint.hpp>

namespace gradual {

/// The texts that stand for classes, or for the values of an input that a table is looked up by: each has a number, its place
/// among them, so that labels and indices are read from text and predictions are written as text.
class Categories {
 public:
  Categories() = default;
  /// In this order. Errors: DataError for a text that occurs twice, or that holds the end of a line.
  explicit Categories(std::vector<std::string> texts) : texts_(std::move(texts)) {
    std::vector<std::string> sorted = texts_;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
      throw DataError("categories: '" + brief(*twice) + "' occurs twice");
    for (const std::string& text : texts_)
      if (text.find('\n') != text.npos) throw DataError("categories: '" + brief(text) + "' has more than one line");
  }

  /// Errors: DataError for a text that is none of them.
  std::int32_t number(std::string_view text) const {
    const auto found = std::ranges::find(texts_, text);
    if (found == texts_.end()) throw DataError("'" + brief(text) + "' is none of " + listed());
    return static_cast<std::int32_t>(found - texts_.begin());
  }
  /// Errors: DataError for a number that is none of theirs.
  const std::string& operator[](std::int64_t number) const {
    if (number < 0 || number >= size())
      throw DataError("category " + std::to_string(number) + " of " + std::to_string(size()));
    return texts_[static_cast<std::size_t>(number)];
  }
  std::int64_t size() const { return std::ssize(texts_); }
  const std::vector<std::string>& texts() const { return texts_; }

  /// Adds the note `name` to what a file will hold. Errors: FileError where one is there.
  void store(Checkpoint& file, const std::string& name) const {
    std::string lines;
    for (const std::string& text : texts_) lines += text + '\n';
    if (!file.notes.emplace(name, std::move(lines)).second) throw FileError("note '" + name + "' is there already");
  }
  /// The categories stored under `name`. Errors: FileError where they are missing; DataError as the constructor.
  static Categories from(const Checkpoint& file, const std::string& name) {
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

 private:
  static std::string brief(std::string_view text) { return std::string(text.substr(0, 80)); }
  std::string listed() const {
    std::string list = std::to_string(size()) + " categories";
    for (std::size_t i = 0; i < texts_.size() && i < 10; ++i) list += (i == 0 ? ": '" : ", '") + brief(texts_[i]) + "'";
    return list + (texts_.size() > 10 ? ", ..." : "");
  }

  std::vector<std::string> texts_;
};

}  // namespace gradual
