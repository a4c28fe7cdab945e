#pragma once
#include <gradual/data/categories_by_column.hpp>

#include <gradual/core/config.hpp>

namespace gradual {

GRADUAL_ONCE const Categories& CategoriesByColumn::at(const TableColumn& column) const {
  if (const auto found = find(column); found != end()) return found->second;
  std::string known;
  for (const auto& [other, categories] : *this) known += (known.empty() ? "" : ", ") + other.text();
  throw DataError(column.text() + " is not a text column; text columns: " + (known.empty() ? "none" : known));
}

}  // namespace gradual
