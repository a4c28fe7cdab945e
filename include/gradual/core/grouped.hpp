#pragma once
#include <cstdint>
#include <string>

namespace gradual::detail {

/// Returns 1234567 as "1 234 567".
inline std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ' ');
  return text;
}

}  // namespace gradual::detail
