#pragma once
#include <bit>
#include <concepts>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include <gradual/core/dtype.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/shape.hpp>

namespace gradual {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

/// A named array of float, as files hold it; or of double, each of which takes the room of two values. What is of bf16 or f16
/// has 16 bits in the file alone: its values are floats, rounded to nearest, ties to even, where they are written.
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
  /// As doubles, where they are floats, too. Errors: FileError for doubles as floats.
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
  std::map<std::string, std::string> left_out;  ///< tensors that were not read, for their types
  std::string path;                             ///< of the file that it was read from

  /// Errors: FileError where there is no tensor of that name, or one of another type.
  const StoredTensor& tensor(const std::string& name, DType dtype = DType::f32) const;
  /// Of a tensor whose numbers `Real` holds: float, or `Real` itself.
  template <std::floating_point Real>
  DType type_within(const std::string& name) const {
    const auto found = tensors.find(name);
    return found != tensors.end() && computed_in(found->second.dtype) == DType::f32 ? DType::f32 : dtype_of<Real>;
  }
  /// The elements of a tensor of such a type. Errors: as `tensor`.
  template <std::floating_point Real>
  std::vector<Real> elements(const std::string& name) const {
    return tensor(name, type_within<Real>(name)).template elements<Real>();
  }
  /// Errors: FileError where there is no note of that name.
  const std::string& note(const std::string& name) const;
  /// Errors: FileError where the name is taken.
  void add(const std::string& name, StoredTensor tensor);
  /// All tensors and notes of another one. Errors: FileError where a name is taken.
  void add(const Checkpoint& other);
  /// "; it holds" the names of its first tensors, for errors.
  std::string what_it_holds() const;
};

namespace detail {

/// f(), whose errors are given the path of the file that it reads from.
template <class F>
auto in_file(const Checkpoint& file, F f) {
  const std::string where = file.path.empty() ? "" : file.path + ": ";
  try {
    return f();
  } catch (const FileError& error) {
    throw FileError(where + error.what());
  } catch (const OptionError& error) {
    throw OptionError(where + error.what());
  }
}

inline std::vector<std::int64_t> extents(const Shape& shape) { return {shape.extent, shape.extent + shape.rank}; }

/// Errors: FileError where the file has no tensor of that name, one of another type or shape, or one that does not fill
/// its shape.
void check_tensor(const Checkpoint& file, const std::string& name, const Shape& shape, DType dtype = DType::f32);

}  // namespace detail

/// Writes a safetensors file atomically. Errors: FileError, also for what could not be loaded again: a shape that does
/// not fit its values, one that is beyond its type of 16 bits, text that is not UTF-8, the notes 'checksum' and 'gradual';
/// MemoryError. The old file is then as it was, unless only its folder could not be synced.
void save(const std::string& path, const Checkpoint& checkpoint);
/// The bytes of the file that `save` would write. Errors: as `save`, of what could not be loaded again.
std::vector<std::byte> bytes_of(const Checkpoint& checkpoint);

/// Reads a safetensors file, by this library or another: tensors of F32 and F64, those of BF16 and F16 as floats; others are
/// left out. Errors: FileError for anything that is not exactly such a file: lengths, holes, overlaps, names given twice,
/// or a checksum that does not match; MemoryError.
Checkpoint load(const std::string& path);
/// The same of a file's bytes, as a program has them inside it; `name` is what errors call them.
Checkpoint load(std::span<const std::byte> file, const std::string& name = "a file in memory");

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/files/checkpoint.ipp>
#endif
