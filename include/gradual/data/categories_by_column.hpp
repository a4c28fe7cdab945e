#pragma once
#include <map>

#include <gradual/data/categories.hpp>
#include <gradual/data/table_column.hpp>

namespace gradual {

/// What may stand in columns of text, by column: `{{"species", {}}, {"kind", Categories({"tree", "shrub"})}}`.
class CategoriesByColumn : public std::map<TableColumn, Categories> {
 public:
  using std::map<TableColumn, Categories>::map;

  /// Errors: DataError where the column is none of these, with those that are.
  const Categories& at(const TableColumn& column) const;

  /// They are those of a table: columns that another file has not, such as the one of the labels, are passed over.
  bool of_table = false;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/categories_by_column.ipp>
#endif
