#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Not <rapidjson/document.h>, which g++ 14 and clang 19 refuse in RapidJSON 1.1, its last release.
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <gradual/core/error.hpp>
#include <gradual/files/is_utf8.hpp>

namespace gradual::detail {

/// The entry of one tensor in the header of a safetensors file.
struct TensorEntry {
  std::string name, type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes of the data
};

struct FileHeader {
  std::vector<TensorEntry> tensors;
  std::map<std::string, std::string> notes;
};

/// Reads a header token by token: anything that does not belong in one is rejected where it begins, however deeply it nests.
class HeaderReader : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, HeaderReader> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}
  FileHeader header;

  bool StartObject() {
    if (place_ == Place::outside) place_ = Place::file;
    else if (place_ == Place::file && entry_.name != "__metadata__") place_ = Place::tensor;
    else if (place_ == Place::file && !has_notes_) place_ = Place::notes, has_notes_ = true;
    else return Default();
    return true;
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    require_utf8({text, length});
    if (place_ == Place::file) entry_ = {}, offsets_.clear(), fields_.clear();
    (place_ == Place::file ? entry_.name : field_).assign(text, length);  // which may hold a NUL
    if (place_ != Place::tensor) return true;
    const bool known = field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
    if (!known || !fields_.insert(field_).second) refuse_tensor(incomplete);
    return true;
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    require_utf8({text, length});
    if (place_ == Place::tensor && field_ == "dtype") entry_.type.assign(text, length);
    else if (place_ != Place::notes || !header.notes.emplace(field_, std::string(text, length)).second) return Default();
    return true;
  }
  bool StartArray() {
    if (place_ != Place::tensor || field_ == "dtype") return Default();
    place_ = field_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }
  bool Uint(unsigned number) { return Uint64(number); }
  bool Uint64(std::uint64_t number) {
    if (place_ == Place::shape && number <= std::numeric_limits<std::int64_t>::max())
      entry_.shape.push_back(static_cast<std::int64_t>(number));
    else if (place_ == Place::offsets && offsets_.size() < 2) offsets_.push_back(number);
    else return Default();
    return true;
  }
  bool EndArray(rapidjson::SizeType) {
    place_ = Place::tensor;
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    if (place_ == Place::tensor) {
      if (fields_.size() != 3) refuse_tensor(incomplete);
      if (offsets_.size() != 2 || offsets_[0] > offsets_[1]) refuse_tensor(malformed);
      entry_.begin = offsets_[0], entry_.end = offsets_[1];
      header.tensors.push_back(std::move(entry_));
    }
    place_ = place_ == Place::file ? Place::outside : Place::file;
    return true;
  }
  /// Handles all other tokens, and misplaced ones. Errors: FileError, unless the header is not an object at all.
  bool Default() {
    switch (place_) {
      case Place::outside: return false;
      case Place::notes: refuse("has metadata that is not text, or occurs twice");
      case Place::tensor: refuse_tensor(field_ == "dtype" ? "has no type" : malformed);
      case Place::shape: refuse_tensor("has an impossible shape");
      case Place::offsets: refuse_tensor(malformed);
      case Place::file: break;
    }
    if (entry_.name == "__metadata__") refuse("has metadata twice, or metadata that is not an object");
    refuse_tensor(incomplete);
  }

 private:
  static constexpr const char* incomplete = "needs dtype, shape and data_offsets";
  static constexpr const char* malformed = "has a malformed shape or range";
  [[noreturn]] void refuse(const std::string& why) const { throw FileError(path_ + ": " + why); }
  void require_utf8(std::string_view text) const {  // the parser accepts an escaped low half of a surrogate pair alone
    if (!is_utf8(text)) refuse("has text that is not UTF-8");
  }
  [[noreturn]] void refuse_tensor(const char* why) const { refuse("tensor '" + entry_.name + "' " + why); }

  enum class Place { outside, file, notes, tensor, shape, offsets } place_ = Place::outside;
  const std::string& path_;
  TensorEntry entry_;             ///< the one being read
  std::string field_;             ///< of that tensor, or of the notes
  std::set<std::string> fields_;  ///< of that tensor so far
  std::vector<std::uint64_t> offsets_;
  bool has_notes_ = false;
};

/// Errors: FileError for a header that is not exactly a safetensors header; `path` names the file.
inline FileHeader read_header(const std::string& path, std::string_view text) {
  HeaderReader words(path);
  rapidjson::MemoryStream stream(text.data(), text.size());
  const bool all_json = text.starts_with('{') && text.find('\0') == text.npos;  // at which the parser would end
  if (!all_json ||
      !rapidjson::Reader{}.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(stream, words))
    throw FileError(path + ": its header is not a JSON object");
  return std::move(words.header);
}

}  // namespace gradual::detail
