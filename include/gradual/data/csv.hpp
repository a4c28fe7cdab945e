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
  std::int64_t columns = 0;  ///< what every row must have; 0: as many as the first
  bool header = false;       ///< the first line holds names
  std::vector<std::string> names = {};  ///< of all columns, where no line holds them
  char separator = ',';
  char decimal = '.';   ///< or ',': the mark before a number's fraction
  char thousands = 0;   ///< what stands between groups of three digits, as '.', '\'' or a space; 0: nothing
  std::vector<TableColumn> skip = {};  ///< columns, counted from 0 or by name, that are left out: dates
  /// Columns of text, and what may stand in them; where nothing is said, all that does, sorted. Those that a table was read
  /// with, `table.text`, may have columns that are not there.
  CategoriesByColumn text = {};
  /// The number of a text that is none of the column's given categories: the number of one of these, or the next after them.
  /// In columns of text that have none such a text is refused.
  std::map<TableColumn, std::int64_t> unknown = {};
  /// What stands where a number is missing, as "", "NA", or a number, "-999", however it is written; it is read as NaN.
  std::vector<std::string> missing = {};
};

/// Reads separated numbers, whatever the locale, with a decimal point where nothing else is said; spaces and quotes around
/// them, lines without anything and a byte order mark are passed over. What stands in a column of text becomes its number among the column's categories.
/// A line without anything is no row, also where nothing stands for a missing number.
/// `place` names the text in errors. Real: float or double.
/// Errors: DataError with place, line and column: a field that is not a finite number, or none of the categories, or that
/// no category could be (`Categories::check`), another count of columns, no rows, lines that end with CR alone, columns by
/// names that the first line has not, or twice; OptionError for columns to skip, or of text, that there are not, for
/// `unknown` where it says nothing, a separator that numbers or quotes have, marks of numbers that are others, and what else no
/// file could fit.
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
