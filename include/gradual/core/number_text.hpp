#pragma once
#include <charconv>
#include <string>

namespace gradual::detail {

// With a decimal point whatever the locale, which printf and std::to_string ask.

/// A number as text that is read back exactly, NaN and infinities included.
template <class T>
std::string exact_text(T number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

/// A number in six digits, or at most 17: "-4", "1e+300".
inline std::string brief_text(double number, int digits = 6) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number, std::chars_format::general, digits).ptr};
}

/// A number with so many digits behind the point, at most 9: "0.250".
inline std::string fixed_text(double number, int places) {
  char text[328];
  return {text, std::to_chars(text, text + sizeof(text), number, std::chars_format::fixed, places).ptr};
}

}  // namespace gradual::detail
