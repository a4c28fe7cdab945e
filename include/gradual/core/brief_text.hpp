#pragma once
#include <cstdio>
#include <string>

namespace gradual::detail {

/// A number in six digits: "-4", "1e+300".
inline std::string brief_text(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number);
  return text;
}

}  // namespace gradual::detail
