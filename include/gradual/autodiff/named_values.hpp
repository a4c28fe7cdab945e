#pragma once
#include <span>
#include <string_view>

#include <gradual/core/shape.hpp>

namespace gradual {

/// One parameter, or its gradient, as its row-major values.
template <class E>
struct NamedValues {
  std::string_view name;
  Shape shape;
  const std::span<E> values;  ///< its elements are written to: another span would change nothing
};

namespace detail {
/// Goes through parameters that are found by position.
template <class Parameters>
struct ByPosition {
  const Parameters* of;
  int position;
  auto operator*() const { return (*of)[position]; }
  ByPosition& operator++() {
    ++position;
    return *this;
  }
  bool operator==(const ByPosition&) const = default;
};
}  // namespace detail

}  // namespace gradual
