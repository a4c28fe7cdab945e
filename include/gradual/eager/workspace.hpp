#pragma once
#include <gradual/eager/device.hpp>

namespace gradual::eager {

/// Memory that is kept from op to op, and replaced if it is too small.
struct Workspace {
  Storage storage;
  std::int64_t bytes = 0;

  /// Returns memory of at least `wanted` bytes. Errors: MemoryError.
  template <class T>
  T* at_least(const Device& device, std::int64_t wanted) {
    if (wanted > bytes) {
      storage = device.allocate(wanted, Category::workspace);
      bytes = wanted;
    }
    return storage.as<T>();
  }
};

}  // namespace gradual::eager
