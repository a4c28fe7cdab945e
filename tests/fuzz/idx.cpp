// Any bytes as an IDX file: its numbers, each computed here by its definition, or a typed error.
#include <gradual/data/idx.hpp>

#include "check.hpp"

using namespace gradual;

namespace {

template <class T>
void read(std::string_view file) {
  IdxArray<T> array;
  if (fuzz::refuses([&] { array = parse_idx<T>(file); })) return;
  std::uint64_t elements = 1;
  for (const std::int64_t extent : array.shape) elements *= static_cast<std::uint64_t>(extent);
  fuzz::check(array.values.size() == elements, "values fill the shape");
  const std::size_t header = 4 + 4 * array.shape.size();
  if (file[2] == 0x08)
    for (std::size_t i = 0; i < elements; ++i)
      fuzz::check(array.values[i] == static_cast<T>(static_cast<unsigned char>(file[header + i])), "bytes are numbers");
  if (file[2] == 0x0b)
    for (std::size_t i = 0; i < elements; ++i) {
      const int high = static_cast<signed char>(file[header + 2 * i]), low = static_cast<unsigned char>(file[header + 2 * i + 1]);
      fuzz::check(array.values[i] == static_cast<T>(high * 256 + low), "two bytes are a number, the high one first");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  read<float>(file);
  read<double>(file);
  read<std::int32_t>(file);
  read<std::uint8_t>(file);
  return 0;
}
