#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/files/checkpoint.hpp>

namespace gradual {

/// The texts of classes, or of the values of an input that indexes a table. A text's number is its place among them, so that
/// labels and indices are read from text and predictions are written as text.
class Categories {
 public:
  Categories() = default;
  /// Numbers the texts in this order. Errors: DataError for a text that occurs twice, and as for `check`.
  explicit Categories(std::vector<std::string> texts);

  /// Returns a text's number. Errors: DataError for an unknown text.
  std::int32_t number(std::string_view text) const;
  /// The same, but returns `otherwise` for an unknown text, such as a word outside a vocabulary.
  std::int32_t number(std::string_view text, std::int32_t otherwise) const;
  /// Errors: DataError for a number out of range.
  const std::string& operator[](std::int64_t number) const;
  std::int64_t size() const { return std::ssize(texts_); }
  const std::vector<std::string>& texts() const { return texts_; }

  /// Errors: DataError for a text that a file cannot store as a category: one of several lines, or not UTF-8.
  static void check(std::string_view text);

  /// Adds the note `name` to a file's contents. Errors: FileError if it exists already.
  void store(Checkpoint& file, const std::string& name) const;
  /// Reads the categories stored under `name`. Errors: FileError if they are missing; DataError as for the constructor.
  static Categories from(const Checkpoint& file, const std::string& name);

 private:
  std::string listed() const;

  std::vector<std::string> texts_;
  std::vector<std::int32_t> sorted_;  // numbers, ordered by their texts
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/categories.ipp>
#endif
