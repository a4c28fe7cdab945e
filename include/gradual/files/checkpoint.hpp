#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <gradual/core/dtype.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/shape.hpp>

namespace gradual {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

/// An array of float, as files hold it; or of double, each in the space of two `values`. Tensors of bf16 or f16 have 16
/// bits only in the file: their values are floats, rounded to nearest, ties to even, when written.
struct StoredTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
  DType dtype = DType::f32;

  template <std::floating_point Real>
  static StoredTensor of(std::vector<std::int64_t> shape, std::span<const Real> elements) {
    StoredTensor tensor{std::move(shape), std::vector<float>(elements.size_bytes() / sizeof(float)), dtype_of<Real>};
    if (!elements.empty()) std::memcpy(tensor.values.data(), elements.data(), elements.size_bytes());
    return tensor;
  }
  /// Returns the elements; floats can also be read as doubles. Errors: FileError for doubles as floats.
  template <std::floating_point Real>
  std::vector<Real> elements() const {
    if (computed_in(dtype) != DType::f32 && dtype != dtype_of<Real>)
      throw FileError(std::string("a tensor of ") + name_of(dtype) + " is not one of " + name_of(dtype_of<Real>));
    if (computed_in(dtype) == DType::f32) return {values.begin(), values.end()};
    std::vector<Real> result(values.size() * sizeof(float) / sizeof(Real));
    if (!result.empty()) std::memcpy(result.data(), values.data(), result.size() * sizeof(Real));
    return result;
  }
};

/// The content of a safetensors file: tensors by name, and notes.
struct Checkpoint {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> notes;
  std::map<std::string, std::string> left_out;  ///< types of tensors that were not read, by name
  std::string path;                             ///< of the file that it was read from

  /// Errors: FileError if there is no tensor of that name, or it has another type.
  const StoredTensor& tensor(const std::string& name, DType dtype = DType::f32) const;
  /// Returns the type of a tensor whose numbers `Real` can hold: float, or `Real` itself.
  template <std::floating_point Real>
  DType type_within(const std::string& name) const {
    const auto found = tensors.find(name);
    return found != tensors.end() && computed_in(found->second.dtype) == DType::f32 ? DType::f32 : dtype_of<Real>;
  }
  /// Returns the elements of a tensor of such a type. Errors: as for `tensor`.
  template <std::floating_point Real>
  std::vector<Real> elements(const std::string& name) const {
    return tensor(name, type_within<Real>(name)).template elements<Real>();
  }
  /// Errors: FileError if there is no note of that name.
  const std::string& note(const std::string& name) const;
  /// Errors: FileError if the name is taken.
  void add(const std::string& name, StoredTensor tensor);
  /// Adds all tensors and notes of another one. Errors: FileError if a name is taken.
  void add(const Checkpoint& other);
  /// Returns "; it holds" and the names of its first tensors, for errors.
  std::string what_it_holds() const;
};

namespace detail {

/// Returns f(), with the path of the file that it reads put before the texts of its errors.
template <class F>
auto in_file(const Checkpoint& file, F f) {
  const std::string where = file.path.empty() ? "" : file.path + ": ";
  try {
    return f();
  } catch (const FileError& error) {
    throw FileError(where + error.what());
  } catch (const OptionError& error) {
    throw OptionError(where + error.what());
  } catch (const DataError& error) {
    throw DataError(where + error.what());
  }
}

inline std::vector<std::int64_t> extents(const Shape& shape) { return {shape.extent, shape.extent + shape.rank}; }

/// Errors: FileError if the file has no tensor of that name, or one of another type or shape, or one that does not fill its
/// shape.
void check_tensor(const Checkpoint& file, const std::string& name, const Shape& shape, DType dtype = DType::f32);

}  // namespace detail

/// Writes a safetensors file atomically. Errors: FileError, also for content that could not be loaded again: a shape that does
/// not fit its values, a value beyond its 16-bit type, types of integers, text that is not UTF-8, the notes 'checksum' and
/// 'gradual'; MemoryError. The old file is then unchanged, unless only its folder could not be synced.
void save(const std::string& path, const Checkpoint& checkpoint);
/// Returns the bytes of the file that `save` would write. Errors: as for `save`, for content that could not be loaded again.
std::vector<std::byte> bytes_of(const Checkpoint& checkpoint);

/// Reads a safetensors file, from this library or another: tensors of F32 and F64, and BF16 and F16 as floats; others are left
/// out. Errors: FileError for anything that is not exactly such a file, such as wrong lengths, holes, overlaps, repeated names
/// or a wrong checksum; MemoryError.
Checkpoint load(const std::string& path);
/// The same from a file's bytes, for example embedded in a program; `name` names them in errors.
Checkpoint load(std::span<const std::byte> file, const std::string& name = "a file in memory");

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/files/checkpoint.ipp>
#endif
