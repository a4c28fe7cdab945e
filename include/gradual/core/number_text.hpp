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

/// NaN without a sign, which only tells what made it on which processor; other numbers as they are.
inline double without_nan_sign(double number) { return number == number ? number : __builtin_nan(""); }

/// A number in six digits, or at most 17: "-4", "1e+300", "nan".
inline std::string brief_text(double number, int digits = 6) {
  char text[32];
  number = without_nan_sign(number);
  return {text, std::to_chars(text, text + sizeof(text), number, std::chars_format::general, digits).ptr};
}

/// A number with so many digits behind the point, at most 9: "0.250".
inline std::string fixed_text(double number, int places) {
  char text[328];
  number = without_nan_sign(number);
  return {text, std::to_chars(text, text + sizeof(text), number, std::chars_format::fixed, places).ptr};
}

}  // namespace gradual::detail
