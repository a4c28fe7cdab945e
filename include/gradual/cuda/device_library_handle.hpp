#pragma once
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <gradual/cuda/runtime.hpp>

namespace gradual::cuda {

/// A library's handle on the current device. To destroy one is to wait for the device, which would break what other threads
/// record: it is kept, and the next one on that device takes it.
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
      unused().reserve(++made);  // so that none has to ask for memory when it is given back
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
    static auto* const handles = new std::vector<std::pair<int, Handle>>;  // what is destroyed last may still give one back
    return *handles;
  }

  int device_ = 0;
  Handle handle_ = nullptr;
};

}  // namespace gradual::cuda
