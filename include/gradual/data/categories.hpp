#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/files/checkpoint.hpp>

namespace gradual {

/// The texts that stand for classes, or for the values of an input that a table is looked up by: each has a number, its place
/// among them, so that labels and indices are read from text and predictions are written as text.
class Categories {
 public:
  Categories() = default;
  /// In this order. Errors: DataError for a text that occurs twice, and as `check`.
  explicit Categories(std::vector<std::string> texts);

  /// Errors: DataError for a text that is none of them.
  std::int32_t number(std::string_view text) const;
  /// The same, and `otherwise` for a text that is none of them, such as a word that a vocabulary has not.
  std::int32_t number(std::string_view text, std::int32_t otherwise) const;
  /// Errors: DataError for a number that is none of theirs.
  const std::string& operator[](std::int64_t number) const;
  std::int64_t size() const { return std::ssize(texts_); }
  const std::vector<std::string>& texts() const { return texts_; }

  /// Errors: DataError for a text that no file could hold as a category: of several lines, or not UTF-8.
  static void check(std::string_view text);

  /// Adds the note `name` to what a file will hold. Errors: FileError where one is there.
  void store(Checkpoint& file, const std::string& name) const;
  /// The categories stored under `name`. Errors: FileError where they are missing; DataError as the constructor.
  static Categories from(const Checkpoint& file, const std::string& name);

 private:
  std::string listed() const;

  std::vector<std::string> texts_;
  std::vector<std::int32_t> sorted_;  // numbers, in the order of their texts
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/categories.ipp>
#endif
