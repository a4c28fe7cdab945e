#pragma once
#include <gradual/files/checkpoint.hpp>

#include <algorithm>
#include <optional>

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <gradual/core/brief_text.hpp>
#include <gradual/core/fnv.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/core/small_float.hpp>
#include <gradual/files/atomic_file.hpp>
#include <gradual/files/header_reader.hpp>
#include <gradual/files/is_utf8.hpp>
#include <gradual/files/read_file.hpp>

namespace gradual {

GRADUAL_ONCE const StoredTensor& Checkpoint::tensor(const std::string& name, DType dtype) const {
  const auto found = tensors.find(name);
  if (const auto other = left_out.find(name); other != left_out.end())
    throw FileError("tensor '" + name + "' is of " + other->second + ", which cannot be read");
  if (found == tensors.end()) throw FileError("the file has no tensor '" + name + "'" + what_it_holds());
  if (found->second.dtype != dtype && computed_in(found->second.dtype) != dtype)
    throw FileError("tensor '" + name + "' is of " + name_of(found->second.dtype) + ", not of " + name_of(dtype));
  return found->second;
}

GRADUAL_ONCE const std::string& Checkpoint::note(const std::string& name) const {
  const auto found = notes.find(name);
  if (found == notes.end())
    throw FileError("the file has no note '" + name + "'" +
                    (notes.empty() ? what_it_holds() : ""));
  return found->second;
}

GRADUAL_ONCE void Checkpoint::add(const std::string& name, StoredTensor tensor) {
  if (!tensors.emplace(name, std::move(tensor)).second)
    throw FileError("the file already has a tensor '" + name + "'");
}

GRADUAL_ONCE void Checkpoint::add(const Checkpoint& other) {
  for (const auto& [name, tensor] : other.tensors) add(name, tensor);
  for (const auto& note : other.notes)
    if (!notes.insert(note).second) throw FileError("the file already has a note '" + note.first + "'");
}

GRADUAL_ONCE std::string Checkpoint::what_it_holds() const {
  constexpr std::size_t most = 8;
  std::string names;
  std::size_t listed = 0;
  for (const auto& [name, tensor] : tensors)
    if (listed++ < most) names += (names.empty() ? "; it holds '" : ", '") + name + "'";
  return listed > most ? names + " and " + std::to_string(listed - most) + " more" : names;
}

}  // namespace gradual

namespace gradual::detail {

inline std::string text_of(std::span<const std::int64_t> extents) {
  std::string text;
  for (const std::int64_t extent : extents) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

GRADUAL_ONCE void check_tensor(const Checkpoint& file, const std::string& name, const Shape& shape, DType dtype) {
  const StoredTensor& tensor = file.tensor(name, dtype);
  const std::vector<std::int64_t>& stored = tensor.shape;
  Message text;
  if (stored != extents(shape)) {
    text << "tensor '" << name << "' is " << text_of(stored) << ", but " << shape << " is needed";
    throw FileError(text.string());
  }
  const auto words = static_cast<std::int64_t>(tensor.values.size()), needed = shape.unit() * (size_of(dtype) / 4);
  if (words == needed) return;
  text << "tensor '" << name << "' holds " << words << " words of 4 bytes, but its shape needs " << needed;
  throw FileError(text.string());
}

/// Calls f(name, tensor) in file order: 16-bit tensors last, so that the others are aligned.
template <class F>
void for_tensors(const Checkpoint& checkpoint, F f) {
  for (const bool small : {false, true})
    for (const auto& [name, tensor] : checkpoint.tensors)
      if (is_small(tensor.dtype) == small) f(name, tensor);
}

/// The types that files hold, and what safetensors calls them.
struct FileType {
  DType dtype;
  const char* name;
};
inline constexpr FileType file_types[] = {
    {DType::f32, "F32"}, {DType::f64, "F64"}, {DType::bf16, "BF16"}, {DType::f16, "F16"}};

/// The longest header that readers accept.
inline constexpr std::uint64_t most_of_header = 100'000'000;

/// Returns a file's header. Errors: FileError for text that is not UTF-8, or is longer than a header, and for other types.
inline std::string header(const Checkpoint& checkpoint, const std::string& sum) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  const auto require = [](const std::string& written, const char* what, const std::string& name) {
    if (written.size() > most_of_header)
      throw FileError(std::string(what) + " '" + brief_text(name) + "' has " + std::to_string(written.size()) +
                      " bytes, but a header has " + std::to_string(most_of_header) + " at most");
    if (!is_utf8(written)) throw FileError(std::string(what) + " '" + name + "' is not UTF-8");
  };
  json.StartObject();
  json.Key("__metadata__");
  json.StartObject();
  for (const auto& [key, value] : checkpoint.notes) {
    require(key, "the name of note", key);
    require(value, "note", key);
    json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  json.Key("gradual"), json.String("1");
  json.Key("checksum"), json.String(sum.c_str());
  json.EndObject();
  std::uint64_t offset = 0;
  for_tensors(checkpoint, [&](const std::string& name, const StoredTensor& tensor) {
    const auto type = std::ranges::find(file_types, tensor.dtype, &FileType::dtype);
    require(name, "the name of tensor", name);
    if (type == std::end(file_types))
      throw FileError("tensor '" + name + "' is of " + name_of(tensor.dtype) + ": files hold float, double, bf16 and f16");
    json.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    json.StartObject();
    json.Key("dtype");
    json.String(type->name);
    json.Key("shape"), json.StartArray();
    for (std::int64_t extent : tensor.shape) json.Int64(extent);
    json.EndArray();
    json.Key("data_offsets"), json.StartArray();
    json.Uint64(offset), json.Uint64(offset += tensor.values.size() * (is_small(tensor.dtype) ? 2 : 4));
    json.EndArray();
    json.EndObject();
  });
  json.EndObject();
  std::string result = text.GetString();
  result.append((8 - result.size() % 8) % 8, ' ');
  return result;
}

using Range = std::pair<std::uint64_t, std::uint64_t>;

template <class E>
std::vector<float> widened(const char* data, std::uint64_t count) {
  std::vector<E> small(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(small.data(), data, count * sizeof(E));
  return {small.begin(), small.end()};
}

/// Errors: FileError for a number that becomes infinite.
template <class E>
std::vector<E> narrowed(const std::string& name, std::span<const float> values) {
  std::vector<E> small(values.begin(), values.end());
  for (std::size_t i = 0; i < small.size(); ++i)
    if (math::is_finite(values[i]) && !math::is_finite(small[i]))
      throw FileError((Message() << "element " << static_cast<std::int64_t>(i) << " of tensor '" << name << "' is "
                                 << double{values[i]} << ", which " << name_of(dtype_of<E>) << " does not hold")
                          .string());
  return small;
}

/// Calls f(the bytes of a tensor's elements as stored in a file). Errors: as for `narrowed`.
template <class F>
void with_bytes(const std::string& name, const StoredTensor& tensor, F f) {
  if (tensor.dtype == DType::bf16) f(std::as_bytes(std::span<const bf16>(narrowed<bf16>(name, tensor.values))));
  else if (tensor.dtype == DType::f16) f(std::as_bytes(std::span<const f16>(narrowed<f16>(name, tensor.values))));
  else f(std::as_bytes(std::span(tensor.values)));
}

/// Returns the tensor of a header's entry, with values copied from the file's `size` bytes of data, 16-bit ones as floats.
/// Returns nothing for values of other types.
inline std::optional<StoredTensor> read_tensor(const std::string& path, const TensorEntry& entry, const char* data,
                                               std::uint64_t size) {
  const auto refuse = [&](const std::string& why) { throw FileError(path + ": tensor '" + entry.name + "' " + why); };
  const auto type = std::ranges::find_if(file_types, [&](const FileType& known) { return entry.type == known.name; });
  const bool known = type != std::end(file_types);
  StoredTensor tensor{.shape = entry.shape, .values = {}, .dtype = known ? type->dtype : DType::f32};
  const auto width = static_cast<std::uint64_t>(size_of(tensor.dtype));
  std::uint64_t elements = 1;
  for (const std::int64_t extent : entry.shape)
    if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(extent), &elements)) refuse("has an impossible shape");
  const auto [begin, end] = std::pair(entry.begin, entry.end);
  if (end > size)
    refuse("ends at byte " + std::to_string(end) + " of " + std::to_string(size) + ": the file is cut short");
  if (known && (elements > size || end - begin != elements * width))
    refuse("is " + text_of(tensor.shape) + " and needs " + std::to_string(elements) + " values of " + std::to_string(width) +
           " bytes, got " + std::to_string(end - begin) + " bytes");
  if (!known) return {};
  if (is_small(tensor.dtype)) {
    tensor.values = tensor.dtype == DType::bf16 ? widened<bf16>(data + begin, elements) : widened<f16>(data + begin, elements);
  } else {
    tensor.values.resize(static_cast<std::size_t>(elements * width / sizeof(float)));
    if (elements > 0) std::memcpy(tensor.values.data(), data + begin, end - begin);
  }
  return tensor;
}

/// Checks that tensors cover the data without a hole or an overlap.
inline void check_cover(const std::string& path, std::vector<Range> ranges, std::uint64_t size) {
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t reached = 0;
  for (const Range& range : ranges) {
    if (range.first != reached) throw FileError(path + ": has a hole or an overlap at byte " + std::to_string(reached));
    reached = range.second;
  }
  if (reached != size)
    throw FileError(path + ": has " + std::to_string(size - reached) + " bytes that belong to no tensor");
}

/// Covers the header without its checksum, then the data: detects every altered byte that could be taken for data.
inline std::string checksum_of(const Checkpoint& checkpoint) {
  const std::string text = header(checkpoint, "");
  std::uint64_t sum = fnv(fnv_begin, std::as_bytes(std::span(text)));
  for_tensors(checkpoint, [&](const std::string& name, const StoredTensor& tensor) {
    with_bytes(name, tensor, [&](std::span<const std::byte> bytes) { sum = fnv(sum, bytes); });
  });
  return std::to_string(sum);
}

/// Returns the content of a file's bytes; `path` names it in errors.
inline Checkpoint parse(const std::string& path, std::string_view file) {
  const auto refuse = [&](const std::string& why) { throw FileError(path + ": " + why); };
  std::uint64_t length = 0;
  if (file.size() < 8) refuse("is shorter than a safetensors header");
  std::memcpy(&length, file.data(), 8);
  if (length > file.size() - 8 || length > most_of_header)
    refuse("is not a safetensors file, or cut short: a header of " + std::to_string(length) + " bytes in " +
           std::to_string(file.size()));
  const char* data = file.data() + 8 + length;
  const std::uint64_t size = file.size() - 8 - length;

  FileHeader header = read_header(path, file.substr(8, length));
  Checkpoint result;
  result.path = path;
  std::vector<Range> ranges;
  for (const TensorEntry& entry : header.tensors) {
    std::optional<StoredTensor> tensor = read_tensor(path, entry, data, size);
    if (result.tensors.contains(entry.name) || result.left_out.contains(entry.name))
      refuse("tensor '" + entry.name + "' occurs twice");
    if (tensor) result.tensors.emplace(entry.name, std::move(*tensor));
    else result.left_out.emplace(entry.name, entry.type);
    ranges.emplace_back(entry.begin, entry.end);
  }
  check_cover(path, std::move(ranges), size);
  const auto own = [&](const char* name, auto may_be) -> std::optional<std::string> {
    const auto found = header.notes.find(name);
    if (found == header.notes.end() || !may_be(found->second)) return {};  // another program's note
    return std::move(header.notes.extract(found).mapped());
  };
  const auto version = own("gradual", [](const std::string& text) { return text == "1"; });
  const auto sum = own("checksum", [](const std::string& text) { return text.find_first_not_of("0123456789") == text.npos; });
  result.notes = std::move(header.notes);
  if (sum.has_value() != version.has_value()) refuse("its checksum is damaged");  // each guards the other
  if (sum && *sum != checksum_of(result))
    refuse("its checksum does not match: the file is damaged, or another program changed it and kept its notes 'gradual' and "
           "'checksum', without which it loads");
  return result;
}

/// Returns a file's bytes, which are known to load; `path` names it in errors.
inline std::vector<std::byte> written(const std::string& path, const Checkpoint& checkpoint) {
  for (const char* own : {"checksum", "gradual"})
    if (checkpoint.notes.contains(own))
      throw FileError(path + ": the note '" + own + "' is the file's own: give yours another name");
  const std::string header = detail::header(checkpoint, checksum_of(checkpoint));
  const std::uint64_t length = header.size();
  std::size_t size = sizeof(length) + header.size();
  for (const auto& [name, tensor] : checkpoint.tensors) size += std::span(tensor.values).size_bytes();
  std::vector<std::byte> file(size);
  auto end = file.begin();
  const auto append = [&](std::span<const std::byte> bytes) { end = std::copy(bytes.begin(), bytes.end(), end); };
  append(std::as_bytes(std::span(&length, 1)));
  append(std::as_bytes(std::span(header)));
  for_tensors(checkpoint, [&](const std::string& name, const StoredTensor& tensor) { with_bytes(name, tensor, append); });
  file.resize(static_cast<std::size_t>(end - file.begin()));  // 16-bit tensors need fewer bytes
  parse(path, {reinterpret_cast<const char*>(file.data()), file.size()});
  return file;
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE std::vector<std::byte> bytes_of(const Checkpoint& checkpoint) {
  return or_memory_error("saving a file", [&] { return detail::written("a file in memory", checkpoint); });
}

GRADUAL_ONCE void save(const std::string& path, const Checkpoint& checkpoint) {
  or_memory_error("saving a file", [&] { write_atomically(path, detail::written(path, checkpoint)); });
}

GRADUAL_ONCE Checkpoint load(const std::string& path) {
  return or_memory_error("loading a file", [&] { return detail::parse(path, read_file(path)); });
}

GRADUAL_ONCE Checkpoint load(std::span<const std::byte> file, const std::string& name) {
  return or_memory_error("loading a file", [&] {
    return detail::parse(name, {reinterpret_cast<const char*>(file.data()), file.size()});
  });
}

}  // namespace gradual
