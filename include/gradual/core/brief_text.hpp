#pragma once
#include <string>
#include <string_view>

namespace gradual::detail {

/// Returns at most 80 bytes of a text, on one line: each control character becomes a '?'.
inline std::string brief_text(std::string_view text) {
  std::string brief(text.substr(0, 80));
  for (char& c : brief)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return brief;
}

}  // namespace gradual::detail
