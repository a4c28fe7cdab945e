#pragma once
#include <cstddef>
#include <string_view>

namespace gradual {

/// Whether a name is what a pattern says, in which '*' stands for any run of characters, also across '/'.
constexpr bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] != '*') return !name.empty() && pattern[0] == name[0] && matches(pattern.substr(1), name.substr(1));
  for (std::size_t skipped = 0; skipped <= name.size(); ++skipped)
    if (matches(pattern.substr(1), name.substr(skipped))) return true;
  return false;
}

}  // namespace gradual
