#pragma once
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gradual::detail {

// Texts have a decimal point whatever the locale, unlike those of printf and std::to_string.

/// Returns a number as text that is read back exactly, NaN and infinities included.
template <class T>
std::string exact_text(T number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

/// Returns NaN without a sign, which only tells how, and on which processor, it was made; other numbers unchanged.
inline double without_nan_sign(double number) { return number == number ? number : __builtin_nan(""); }

/// Returns a number in up to `digits` significant digits, 17 at most: "-4", "1e+300", "nan".
inline std::string brief_text(double number, int digits = 6) {
  char text[32];
  number = without_nan_sign(number);
  return {text, std::to_chars(text, text + sizeof(text), number, std::chars_format::general, digits).ptr};
}

/// Returns a number with `places` digits after the decimal point, at most 9: "0.250".
inline std::string fixed_text(double number, int places) {
  char text[328];
  number = without_nan_sign(number);
  return {text, std::to_chars(text, text + sizeof(text), number, std::chars_format::fixed, places).ptr};
}

/// Returns 1234567 as "1 234 567".
inline std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ' ');
  return text;
}

}  // namespace gradual::detail
