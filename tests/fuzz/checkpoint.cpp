// Any bytes as a safetensors file: a typed error, or tensors and notes that are the same once they are saved and read again;
// and, from them, a normalizer or an error.
#include <gradual/data/categories.hpp>
#include <gradual/data/imputer.hpp>
#include <gradual/data/normalizer.hpp>

#include <unistd.h>

#include <string>

#include "check.hpp"
#include "same.hpp"

using namespace gradual;

namespace {

/// Puts its length in front of a header, up to its last brace, which a mutation would have to guess.
std::string with_length(const std::string& bytes) {
  if (!bytes.starts_with('{')) return bytes;
  const std::uint64_t length = bytes.rfind('}') + 1;
  return std::string(reinterpret_cast<const char*>(&length), 8) + bytes;
}

void save_and_load(const Checkpoint& read) {
  static const std::string path = "fuzz_checkpoint_" + std::to_string(::getpid());
  save(path, read);
  const Checkpoint again = load(path);
  ::unlink(path.c_str());
  fuzz::check(fuzz::same(read, again), "what was read, saved and read again is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string file = with_length({reinterpret_cast<const char*>(data), size});
  Checkpoint read;
  if (fuzz::refuses([&] { read = load(std::as_bytes(std::span(file))); })) return 0;
  save_and_load(read);
  fuzz::refuses([&] { Normalizer::from(read, "a"); });
  fuzz::refuses([&] { NormalizerIn<double>::from(read, "a"); });
  fuzz::refuses([&] { Imputer::from(read, "a"); });
  fuzz::refuses([&] {
    const Categories categories = Categories::from(read, "a");
    Checkpoint other;
    categories.store(other, "a");
    fuzz::check(Categories::from(other, "a").texts() == categories.texts(), "categories are stored as they were read");
  });
  return 0;
}
