#pragma once
#include <gradual/data/table_column.hpp>

#include <algorithm>
#include <functional>

#include <gradual/core/config.hpp>
#include <gradual/core/no_such_name.hpp>

namespace gradual {

GRADUAL_ONCE std::int64_t TableColumn::place_among(const std::vector<std::string>& names, std::string_view of) const {
  if (!named_) return place_;
  const auto found = std::ranges::find(names, name_);
  if (found == names.end())
    throw DataError(std::string(of) + ": " + detail::no_such_name("column", name_, names, std::identity()));
  if (std::find(found + 1, names.end(), name_) != names.end())
    throw DataError(std::string(of) + ": more than one column is named '" + name_ + "'");
  return found - names.begin();
}

GRADUAL_ONCE bool TableColumn::is_among(const std::vector<std::string>& names, std::int64_t columns) const {
  return named_ ? std::ranges::find(names, name_) != names.end() : place_ < columns;
}

GRADUAL_ONCE std::string TableColumn::text() const {
  return named_ ? "column '" + name_ + "'" : "column " + std::to_string(place_);
}

}  // namespace gradual
