#pragma once
#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <gradual/cuda/runtime.hpp>

namespace gradual::cuda {

/// A library's handle on the current device. Destroying a handle waits for the device, which would break recordings of other
/// threads: so handles are kept, to be reused on their device.
template <class Handle, Handle (*Create)()>
class LibraryHandle {
 public:
  /// Errors: DeviceError.
  LibraryHandle() {
    check(cudaGetDevice(&device_), "cudaGetDevice");
    const std::lock_guard lock(mutex());
    const auto kept = std::find_if(unused().begin(), unused().end(), [&](const auto& one) { return one.first == device_; });
    if (kept != unused().end()) {
      handle_ = kept->second;
      unused().erase(kept);
    } else {
      static std::size_t made = 0;
      unused().reserve(++made);  // so that giving one back allocates nothing
      handle_ = Create();
    }
  }
  LibraryHandle(LibraryHandle&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  ~LibraryHandle() {
    if (handle_ == nullptr) return;
    const std::lock_guard lock(mutex());
    unused().emplace_back(device_, handle_);
  }

  Handle get() const { return handle_; }

 private:
  static std::mutex& mutex() {
    static std::mutex all;
    return all;
  }
  static std::vector<std::pair<int, Handle>>& unused() {
    static auto* const handles = new std::vector<std::pair<int, Handle>>;  // never destroyed, for late destructors
    return *handles;
  }

  int device_ = 0;
  Handle handle_ = nullptr;
};

}  // namespace gradual::cuda
