#pragma once
#include <cstring>
#include <functional>
#include <vector>

#include <gradual/core/free_memory.hpp>
#include <gradual/core/block.hpp>
#include <gradual/core/error.hpp>
#include <gradual/cuda/simt.hpp>
#include <gradual/cuda/twin_memory.hpp>

namespace gradual::cuda {

inline std::int64_t free_memory() { return gradual::free_memory(); }

inline int device_count() { return 2; }
inline bool device_found() { return true; }

struct OnDevice {
  explicit OnDevice(int /*index*/) {}
};

class Pinned {
 public:
  Pinned() = default;
  explicit Pinned(std::int64_t bytes) : block_(bytes) {}
  std::byte* data() const { return block_.data(); }

 private:
  HeapBlock block_;
};

struct Recording {
  std::vector<std::function<void()>> work;
};

/// The order in which the twin's threads take turns: tests try both.
inline bool twin_runs_backwards = false;

/// After how many launches the twin's device fails once, as one may; −1: never.
inline int twin_fails_after = -1;

class Stream {
 public:
  void copy(void* to, const void* from, std::int64_t bytes) const {
    enqueue([=] { std::memmove(to, from, static_cast<std::size_t>(bytes)); });
  }
  void clear(void* to, std::int64_t bytes) const {
    enqueue([=] { std::memset(to, 0, static_cast<std::size_t>(bytes)); });
  }
  void wait() const {}
  template <class... A>
  void launch(void (*kernel)(A...), std::int64_t blocks, int threads, A... arguments) const {
    if (twin_fails_after >= 0 && twin_fails_after-- == 0) throw DeviceError("kernel launch: the twin was told to fail");
    enqueue([=] { twin::Grid(blocks, threads, [=] { kernel(arguments...); }, twin_runs_backwards); });
  }
  /// Does it, or adds it to what is recorded.
  template <class F>
  void enqueue(F work) const {
    const auto on_device = [=] {
      const twin::DeviceMemory::Revealed revealed;
      work();
    };
    if (recording_ != nullptr) recording_->work.push_back(on_device);
    else on_device();
  }
  /// As on a device, later calls do what was recorded and not what would be now.
  template <class F>
  void replay(Recording& recording, F record) const {
    if (recording.work.empty()) {
      recording_ = &recording;
      record();
      recording_ = nullptr;
    }
    for (const auto& work : recording.work) work();
  }

 private:
  mutable Recording* recording_ = nullptr;
};

}  // namespace gradual::cuda
