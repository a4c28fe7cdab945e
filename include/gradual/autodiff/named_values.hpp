#pragma once
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <gradual/core/shape.hpp>

namespace gradual {

/// One parameter, or its gradient, as its row-major values.
template <class E>
struct NamedValues {
  std::string_view name;
  Shape shape;
  const std::span<E> values;  ///< const, since only writing to its elements changes anything
};

namespace detail {
/// A forward iterator over parameters that are accessed by position.
template <class Parameters>
struct ByPosition {
  using value_type = std::remove_cvref_t<decltype(std::declval<const Parameters&>()[0])>;
  using difference_type = std::ptrdiff_t;
  const Parameters* of = nullptr;
  int position = 0;
  auto operator*() const { return (*of)[position]; }
  ByPosition& operator++() {
    ++position;
    return *this;
  }
  ByPosition operator++(int) { return {of, position++}; }
  bool operator==(const ByPosition&) const = default;
};
}  // namespace detail

}  // namespace gradual
