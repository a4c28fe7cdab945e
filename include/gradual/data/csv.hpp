#pragma once
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/core/out_of_memory.hpp>
#include <gradual/data/categories_by_column.hpp>
#include <gradual/data/table.hpp>
#include <gradual/data/table_column.hpp>
#include <gradual/files/read_file.hpp>

namespace gradual {

struct CsvOptions {
  std::int64_t columns = 0;  ///< the number of columns that every row must have; 0: as many as the first row
  bool header = false;       ///< the first line holds the column names
  std::vector<std::string> names = {};  ///< of all columns, if no line holds them
  char separator = ',';
  char decimal = '.';   ///< or ',': the decimal mark
  char thousands = 0;   ///< between groups of three digits, such as '.', '\'' or a space; 0: none
  std::vector<TableColumn> skip = {};  ///< columns to leave out, such as dates: places from 0, or names
  /// Columns of text with their categories; without any given, all texts found, sorted. The `text` of another table may contain
  /// columns that this file does not have.
  CategoriesByColumn text = {};
  /// The number for texts that are not among a column's given categories: that of one of these, or the next after them. Without
  /// an entry for a text column such a text is an error.
  std::map<TableColumn, std::int64_t> unknown = {};
  /// Marks of a missing number, such as "", "NA" or a number, "-999", which is found however it is written; read as NaN.
  std::vector<std::string> missing = {};
};

/// Reads separated numbers, independent of the locale, by default with a decimal point; skips spaces and quotes around them,
/// empty lines and a byte order mark. Texts in a column of text become their numbers among the column's categories. An empty
/// line is never a row, even if "" marks a missing number.
/// `place` names the text in errors. Real: float or double.
/// Errors: DataError with place, line and column: a field that is not a finite number, not one of the categories, or not a
/// valid category (`Categories::check`), another number of columns, no rows, lines that end with CR alone, column names that
/// the first line lacks or has twice; OptionError for columns to skip or of text that do not exist, an `unknown` without
/// categories, out of their range or given twice, a separator that occurs in numbers or quotes, conflicting number marks, marks
/// of missing numbers with blanks or quotes around them, and other options that no file could satisfy.
template <std::floating_point Real = float>
TableIn<Real> parse_csv(std::string_view text, const CsvOptions& options = {}, const std::string& place = "csv");

/// The same from a file. Errors: FileError where it cannot be read; MemoryError.
template <std::floating_point Real = float>
TableIn<Real> read_csv(const std::string& path, const CsvOptions& options = {}) {
  return or_memory_error("reading numbers", [&] { return parse_csv<Real>(read_file(path), options, path); });
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/csv.ipp>
#else
namespace gradual {
extern template TableIn<float> parse_csv(std::string_view, const CsvOptions&, const std::string&);
extern template TableIn<double> parse_csv(std::string_view, const CsvOptions&, const std::string&);
}  // namespace gradual
#endif
