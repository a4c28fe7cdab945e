#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace gradual {

/// Text in a fixed buffer, so that the same message can be shown by the compiler and thrown at run time. Cold: the calls that
/// remain in a program lie on error paths or report progress.
template <int Capacity>
struct FixedText {
  char text[Capacity]{};
  int length = 0;

  constexpr FixedText() = default;
  constexpr FixedText(const char* s) { *this << s; }

  [[gnu::noinline]] constexpr FixedText& operator<<(std::string_view s) {
    for (char c : s) append(c);
    return *this;
  }
  [[gnu::noinline]] constexpr FixedText& operator<<(const char* s) {
    for (; *s != 0; ++s) append(*s);
    return *this;
  }
  [[gnu::noinline]] constexpr FixedText& operator<<(std::int64_t number) {
    char digits[20]{};
    int count = 0;
    std::uint64_t rest = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    do digits[count++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) append('-');
    while (count > 0) append(digits[--count]);
    return *this;
  }
  constexpr FixedText& operator<<(int number) { return *this << static_cast<std::int64_t>(number); }
  /// Appends a number with at most six decimal places; compilers cannot evaluate the standard library's formatting.
  [[gnu::noinline]] constexpr FixedText& operator<<(double number) {
    if (number != number) return *this << "NaN";
    if (number < 0) append('-'), number = -number;
    if (number >= 1e12) return *this << "1e12 or more";
    std::int64_t places = static_cast<std::int64_t>(number * 1e6 + 0.5), digit = 1000000;
    *this << places / digit;
    if (places %= digit; places != 0) append('.');
    for (; places != 0; places %= digit) append(static_cast<char>('0' + places / (digit /= 10)));
    return *this;
  }

  constexpr std::string_view view() const { return {text, static_cast<std::size_t>(length)}; }
  std::string string() const { return std::string(view()); }
  constexpr bool empty() const { return length == 0; }
  constexpr bool full() const { return length == Capacity - 1; }
  constexpr bool operator==(const FixedText&) const = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const FixedText& message) {
    return out << message.view();
  }

 private:
  constexpr void append(char c) {
    if (length < Capacity - 1) text[length++] = c;
  }
};

using Message = FixedText<240>;
using Name = FixedText<80>;

}  // namespace gradual
