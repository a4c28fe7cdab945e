#pragma once
#include <string>
#include <string_view>

namespace gradual::detail {

/// Returns a text such as: no parameter is named 'hiden'; there are 'hidden', 'output'. `text_of(x)` returns the name of each x
/// of `there_are`, as something convertible to std::string_view.
template <class Range, class F>
std::string no_such_name(const char* what, std::string_view name, const Range& there_are, F text_of) {
  std::string known;
  for (const auto& x : there_are) ((known += known.empty() ? "'" : ", '") += std::string_view(text_of(x))) += '\'';
  return std::string("no ") + what + " is named '" + std::string(name) + "'; there are " + (known.empty() ? "none" : known);
}

}  // namespace gradual::detail
