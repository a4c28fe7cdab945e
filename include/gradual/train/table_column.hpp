#pragma once
#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

namespace gradual {

/// A column of a table, or of a file that one is read from: its place, counted from 0, or its name.
class TableColumn {
 public:
  template <std::integral Place>
  TableColumn(Place place) : place_(static_cast<std::int64_t>(place)) {}
  TableColumn(std::string name) : name_(std::move(name)), named_(true) {}
  TableColumn(const char* name) : TableColumn(std::string(name)) {}

  bool is_named() const { return named_; }
  std::int64_t place() const { return place_; }
  const std::string& name() const { return name_; }
  auto operator<=>(const TableColumn&) const = default;

 private:
  std::int64_t place_ = 0;
  std::string name_;
  bool named_ = false;
};

}  // namespace gradual
