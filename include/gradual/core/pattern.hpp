#pragma once
#include <cstddef>
#include <string_view>

namespace gradual {

/// Whether a name matches a pattern, in which '*' stands for any run of characters, including '/'.
constexpr bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, star = pattern.npos, after = 0;  // only the last star ever needs to take more
  for (std::size_t n = 0; n < name.size();) {
    if (p < pattern.size() && pattern[p] == '*') star = p++, after = n;
    else if (p < pattern.size() && pattern[p] == name[n]) ++p, ++n;
    else if (star != pattern.npos) p = star + 1, n = ++after;
    else return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace gradual
