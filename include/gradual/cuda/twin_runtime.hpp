#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/core/free_memory.hpp>
#include <gradual/core/heap_block.hpp>
#include <gradual/core/set_while.hpp>
#include <gradual/cuda/simt.hpp>
#include <gradual/cuda/twin_memory.hpp>

namespace gradual::cuda {

inline std::int64_t free_memory() { return std::min(gradual::free_memory(), twin_memory - Memory::held()); }

inline int device_count() { return 2; }
inline bool device_found() { return true; }
inline void require_device() {}

/// Uncleared host memory, whose allocation the twin may refuse, like that of device memory.
struct Pinned : HeapBlock {
  Pinned() = default;
  explicit Pinned(std::int64_t bytes) : HeapBlock(bytes) {
    if (bytes > 0 && twin::refuses()) throw MemoryError("out of pinned memory: the twin was told to refuse");
    if (bytes > 0) std::memset(data(), 0xff, static_cast<std::size_t>(bytes));
  }
};

/// Makes a device current for a scope.
struct OnDevice : SetWhile<int> {
  explicit OnDevice(int index) : SetWhile<int>(twin_device, index) {}
};

class Event;
struct Recording {
  struct Recorded {
    std::function<void()> work;
    Event* event;  ///< to record, where there is no work
  };
  std::vector<Recorded> all;
};

/// Whether the twin's threads take turns from the last to the first: tests try both.
inline bool twin_runs_backwards = false;
/// The number of blocks in a cluster if so, each of which takes a host thread; otherwise a cluster is a single block.
inline constexpr int twin_cluster_blocks = 2;

/// A point in a stream's work that others may wait for.
class Event {
 public:
  void wait() const {
    twin::require_no_capture("Event::wait");
    const twin::DeviceMemory::Revealed revealed;  // once for all of that work
    if (of_ != nullptr) of_->run_until(place_);
  }

 private:
  friend class Stream;
  std::shared_ptr<twin::Work> of_;
  std::int64_t place_ = 0;
};

/// The number of launches after which the twin's device fails once, as one may; −1: never.
inline int twin_fails_after = -1;

class Stream {
 public:
  explicit Stream(bool /*with_default*/ = false) {}
  Stream(Stream&&) = default;
  ~Stream() {
    if (work_ != nullptr) wait();
  }

  void copy(void* to, const void* from, std::int64_t bytes) const {
    if (bytes > 0) enqueue([=] { std::memmove(to, from, static_cast<std::size_t>(bytes)); });  // else the pointers may be null
  }
  /// Copies what host memory holds now, or what device memory holds when the copy is made.
  void write(void* to, const void* source, std::int64_t bytes) const {
    require_no_recording("write");
    if (twin::DeviceMemory::all().holds(source)) return copy(to, source, bytes);
    const std::byte* const from = static_cast<const std::byte*>(source);
    enqueue(
        [to, values = std::vector<std::byte>(from, from + bytes)] { std::memcpy(to, values.data(), values.size()); });
  }
  void clear(void* to, std::int64_t bytes) const {
    enqueue([=] { std::memset(to, 0, static_cast<std::size_t>(bytes)); });
  }
  void wait() const {
    require_no_recording("wait");
    const twin::DeviceMemory::Revealed revealed;
    work_->run_until(work_->asked());
  }
  bool copies_straight(const void* /*from*/) const { return false; }
  bool holds(const void* at) const { return twin::DeviceMemory::all().holds(at); }
  void wait_for_default(Event& /*event*/) const {}
  int device() const { return device_; }
  void record(Event& event) const {
    require_no_recording("record");
    event.of_ = work_;
    event.place_ = work_->asked();
  }
  void record_within(Event& event) const {
    if (recording_ != nullptr && !kernels_alone_) throw std::logic_error("record_within: a library's work is being captured");
    if (recording_ != nullptr) recording_->all.push_back({{}, &event});
    else record(event);
  }
  void wait_for(const Event& event) const {
    require_no_recording("wait_for");
    enqueue([event] { event.wait(); });
  }
  template <class... A>
  void launch(void (*kernel)(A...), std::int64_t blocks, int threads, A... arguments) const {
    launch_threads(blocks, threads, [=] { kernel(arguments...); }, false);
  }
  template <class... A>
  void launch_cluster(void (*kernel)(A...), int blocks, int threads, A... arguments) const {
    const int at_once = twin_runs_backwards ? std::min(blocks, twin_cluster_blocks) : 1;
    launch_threads(at_once, threads, [=] { kernel(arguments...); }, true);
  }
  /// Queues work, or adds it to the recording. A recording of kernels alone takes no such work: a device would do it at once
  /// and never replay it.
  void enqueue(std::function<void()> work) const {
    if (kernels_alone_) throw std::logic_error("a recording of kernels alone cannot take other work");
    add(std::move(work));
  }
  /// As on a device, later calls repeat what was recorded and do not call `record`.
  template <class F>
  void replay(Recording& recording, bool kernels_alone, F record) const {
    if (recording.all.empty()) {
      const SetWhile<Recording*> records(recording_, &recording);
      const SetWhile<bool> alone(kernels_alone_, kernels_alone), captures(twin::captures, !kernels_alone);
      try {
        record();
      } catch (...) {
        recording.all.clear();
        throw;
      }
    }
    for (const auto& [work, event] : recording.all)
      if (event != nullptr) this->record(*event);
      else work_->add(work);
  }

 private:
  void add(std::function<void()> work) const {
    std::function<void()> on_device = [work = std::move(work)] {
      const twin::DeviceMemory::Revealed revealed;
      work();
    };
    if (recording_ != nullptr) recording_->all.push_back({std::move(on_device), nullptr});
    else work_->add(std::move(on_device));
  }
  /// Refuses calls that act on a stream's running work and cannot be recorded. Errors: std::logic_error.
  void require_no_recording(const char* call) const {
    if (recording_ != nullptr) throw std::logic_error(std::string(call) + ": the stream is being recorded");
  }
  /// One function for all kernels.
  void launch_threads(std::int64_t blocks, int threads, std::function<void()> kernel, bool as_cluster) const {
    if (twin_fails_after >= 0 && twin_fails_after-- == 0) throw DeviceError("kernel launch: the twin was told to fail");
    add([=, kernel = std::move(kernel)] {
      if (as_cluster) twin::Grid::run_cluster(static_cast<int>(blocks), threads, kernel, twin_runs_backwards);
      else twin::Grid(blocks, threads, kernel, twin_runs_backwards);
    });
  }

  std::shared_ptr<twin::Work> work_ = std::make_shared<twin::Work>();
  mutable Recording* recording_ = nullptr;
  int device_ = twin_device;
  mutable bool kernels_alone_ = false;  // the recording takes no other work
};

}  // namespace gradual::cuda
