#pragma once
#include <rapidjson/encodings.h>
#include <rapidjson/memorystream.h>

#include <string_view>

namespace gradual::detail {

/// Returns whether a text is UTF-8, as JSON must be: RapidJSON's writer would read beyond its end to complete a last character.
inline bool is_utf8(std::string_view text) {
  struct {
    void Put(char) {}
  } nowhere;
  rapidjson::MemoryStream bytes(text.data(), text.size());
  while (bytes.Tell() < text.size())
    if (!rapidjson::UTF8<>::Validate(bytes, nowhere)) return false;
  return true;
}

}  // namespace gradual::detail
