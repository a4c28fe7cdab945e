#pragma once
#include <map>

#include <gradual/data/categories.hpp>
#include <gradual/data/table_column.hpp>

namespace gradual {

/// The categories of text columns, by column: `{{"species", {}}, {"kind", Categories({"tree", "shrub"})}}`.
class CategoriesByColumn : public std::map<TableColumn, Categories> {
 public:
  using std::map<TableColumn, Categories>::map;

  /// Errors: DataError, which lists the known columns, for a column that is not one of them.
  const Categories& at(const TableColumn& column) const;

  /// Whether these were read with a table: columns that another file lacks, such as that of the labels, are then ignored.
  bool of_table = false;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/categories_by_column.ipp>
#endif
