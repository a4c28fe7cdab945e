#pragma once
#include <utility>

#include <gradual/core/message.hpp>

namespace gradual {

/// Reports a model that could not be traced: the message is part of the type, which compilers print.
#if defined(__clang__)  // which prints arrays as numbers, and characters as such
template <char... text>
struct CharactersOfModelError {
  static_assert(sizeof...(text) == 0, "the model cannot be compiled: the reason is spelled by the characters of the class");
};
template <Message Text>
constexpr bool model_error() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return sizeof(CharactersOfModelError<Text.text[I]...>) == 0;
  }(std::make_integer_sequence<int, Text.length>{});
}
#else
template <Message Text>
constexpr bool model_error() {
  static_assert(Text.empty(), "the model cannot be compiled: the reason is the argument of model_error");
  return false;
}
#endif

}  // namespace gradual
