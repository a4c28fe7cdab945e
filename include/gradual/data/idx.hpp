#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/files/read_file.hpp>

namespace gradual {

/// The numbers of an IDX file, the format of MNIST: row-major, with samples along the first axis.
template <class T>
struct IdxArray {
  std::vector<std::int64_t> shape;
  std::vector<T> values;
};

namespace detail {

/// Returns the big-endian number that begins at `from`.
template <class Stored>
Stored big_endian(const char* from) {
  using Bits = std::conditional_t<sizeof(Stored) == 8, std::uint64_t, std::uint32_t>;
  Bits bits = 0;
  for (std::size_t i = 0; i < sizeof(Stored); ++i) bits = bits << 8 | static_cast<unsigned char>(from[i]);
  if constexpr (std::is_integral_v<Stored>) return static_cast<Stored>(bits);
  else return std::bit_cast<Stored>(bits);
}

/// Calls f(a number of the type with this `code` in IDX files, the type's name). Returns false for an unknown code.
template <class F>
bool with_idx_type(int code, F f) {
  switch (code) {
    case 0x08: return f(std::uint8_t{}, "8-bit integers"), true;
    case 0x09: return f(std::int8_t{}, "8-bit integers"), true;
    case 0x0b: return f(std::int16_t{}, "16-bit integers"), true;
    case 0x0c: return f(std::int32_t{}, "32-bit integers"), true;
    case 0x0d: return f(float{}, "floats"), true;
    case 0x0e: return f(double{}, "doubles"), true;
    default: return false;
  }
}

/// Whether every value of type From is representable as To.
template <class To, class From>
inline constexpr bool holds_every = std::numeric_limits<From>::digits <= std::numeric_limits<To>::digits &&
                                    (std::is_unsigned_v<From> || std::is_signed_v<To>) &&
                                    (std::is_integral_v<From> || std::is_floating_point_v<To>);

}  // namespace detail

/// Reads numbers of any type of the format as T: float, double, std::int32_t or std::uint8_t, with their stored values, such as
/// pixels from 0 to 255. `place` names the text in errors, all of which precede the allocation for numbers. Errors: FileError
/// for text that is not an IDX file, another number of bytes than its shape needs, or numbers that T cannot represent.
template <class T = float>
IdxArray<T> parse_idx(std::string_view file, const std::string& place = "idx") {
  static_assert(std::is_floating_point_v<T> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint8_t>,
                "read_idx: float, double, std::int32_t or std::uint8_t");
  const auto refuse = [&](const std::string& why) { throw FileError(place + ": " + why); };
  if (file.starts_with("\x1f\x8b")) refuse("is compressed: gunzip it first");
  if (file.size() < 4 || file[0] != 0 || file[1] != 0) refuse("is not an IDX file: it does not begin with two bytes of 0");
  const auto rank = static_cast<unsigned char>(file[3]);
  const std::size_t header = 4 + std::size_t{rank} * 4;
  if (rank == 0 || file.size() < header)
    refuse("is cut short: " + std::to_string(file.size()) + " bytes, but " + std::to_string(rank) +
           " axes need a header of " + std::to_string(header));
  IdxArray<T> array;
  const bool known = detail::with_idx_type(file[2], [&](auto stored, const char* name) {
    using Stored = decltype(stored);
    if constexpr (!detail::holds_every<T, Stored>) {
      constexpr const char* wanted = std::is_floating_point_v<T> ? "float" : std::is_signed_v<T> ? "int32" : "uint8";
      refuse(std::string("holds ") + name + ", which cannot all be read as " + wanted);
    } else {
      std::uint64_t bytes = sizeof(Stored);
      bool countable = true;
      std::string shape;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const auto extent = detail::big_endian<std::uint32_t>(file.data() + 4 + 4 * axis);
        countable = countable && !__builtin_mul_overflow(bytes, extent, &bytes);
        shape += (axis == 0 ? "" : " x ") + std::to_string(extent);
        array.shape.push_back(extent);
      }
      if (const std::size_t given = file.size() - header; !countable || bytes != given)
        refuse("has " + std::to_string(given) + " bytes of numbers, but " + shape + " " + name + " need " +
               (countable ? std::to_string(bytes) : "more than can be counted"));
      array.values.reserve(static_cast<std::size_t>(bytes) / sizeof(Stored));
      for (std::size_t at = header; at < file.size(); at += sizeof(Stored))
        array.values.push_back(static_cast<T>(detail::big_endian<Stored>(file.data() + at)));
    }
  });
  if (!known) refuse("is not an IDX file: numbers of the unknown type " + std::to_string(static_cast<unsigned char>(file[2])));
  return array;
}

/// The same from a file. Errors: also FileError if it cannot be read; MemoryError.
template <class T = float>
IdxArray<T> read_idx(const std::string& path) {
  return or_memory_error("reading numbers", [&] { return parse_idx<T>(read_file(path), path); });
}

}  // namespace gradual
