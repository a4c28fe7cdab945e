#pragma once
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gradual/core/error.hpp>

namespace gradual {

/// A column of a table, or of the file that it is read from: its place, counted from 0, or its name.
class TableColumn {
 public:
  template <class Place>
    requires(std::is_convertible_v<Place, std::int64_t> && !std::is_floating_point_v<Place> && !std::is_same_v<Place, bool> &&
             !std::is_same_v<Place, char>)
  TableColumn(Place place) : place_(static_cast<std::int64_t>(place)) {}
  template <std::convertible_to<std::string_view> Name>
  TableColumn(const Name& name) : name_(std::string_view(name)), named_(true) {}
  TableColumn(std::nullptr_t) = delete;

  /// Returns its place among columns of these names, the columns of `of`. Errors: DataError for a name that none of them has,
  /// or more than one.
  std::int64_t place_among(const std::vector<std::string>& names, std::string_view of) const;

  /// Returns whether `columns` columns include this one; `names` are theirs, if they have any.
  bool is_among(const std::vector<std::string>& names, std::int64_t columns) const;

  bool is_named() const { return named_; }
  /// Returns "column 'day'" or "column 7".
  std::string text() const;
  auto operator<=>(const TableColumn&) const = default;

 private:
  std::int64_t place_ = 0;
  std::string name_;
  bool named_ = false;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/table_column.ipp>
#endif
