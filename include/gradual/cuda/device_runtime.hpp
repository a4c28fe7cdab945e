#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include <gradual/core/set_while.hpp>
#include <gradual/cuda/device_errors.hpp>
#include <gradual/cuda/simt.hpp>

namespace gradual::cuda {

/// A scope in which device `index` is current: allocations, copies and launches are made on it.
class OnDevice {
 public:
  /// Errors: DeviceError.
  explicit OnDevice(int index) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ == index) before_ = -1;
    else check(cudaSetDevice(index), "cudaSetDevice");
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (before_ >= 0) cudaSetDevice(before_);
  }

 private:
  int before_ = 0;  ///< the device to return to; −1: `index` was current
};

/// A piece of zeroed device memory, owned by its maker. Errors: MemoryError with the bytes needed and free; DeviceError for
/// failures with other causes.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::int64_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const auto size = static_cast<std::size_t>(bytes);
    if (const cudaError_t status = cudaMalloc(&data_, size); status != cudaSuccess) {
      if (status != cudaErrorMemoryAllocation) check(status, "cudaMalloc");
      std::size_t free = 0, all = 0;
      cudaGetLastError();
      check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
      throw MemoryError("out of device memory: " + std::to_string(bytes) + " bytes are needed, " + std::to_string(free) +
                        " of " + std::to_string(all) + " are free");
    }
    if (const cudaError_t status = cleared(data_, size); status != cudaSuccess) {
      cudaFree(data_);
      check(status, "cudaMemset");
    }
    held_ += bytes;
  }
  Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    const Memory before(std::move(*this));  // a self-move leaves it empty, as with a vector
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory() {
    if (data_ != nullptr) cudaFree(data_);  // the call alone would begin a context on another device
    held_ -= bytes_;
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::int64_t size() const { return bytes_; }
  /// Returns the bytes of all live pieces.
  static std::int64_t held() { return held_; }

 private:
  /// Zeroes memory on a stream of its own: waiting for the whole device would break recordings of other threads.
  static cudaError_t cleared(void* data, std::size_t size) {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (status == cudaSuccess) status = cudaMemsetAsync(data, 0, size, stream);
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
    if (stream != nullptr) cudaStreamDestroy(stream);
    return status;
  }

  inline static std::atomic<std::int64_t> held_ = 0;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// Returns the bytes of device memory for further sessions: all that are free, except for 64 MiB or, if that is less, an eighth
/// of these and what sessions hold. Allocations are rounded up, and kernels, graphs and libraries take memory of their own when
/// they first run. Errors: DeviceError.
inline std::int64_t free_memory() {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  const auto left = static_cast<std::int64_t>(free);
  return std::max(std::int64_t{0}, left - std::min((left + Memory::held()) / 8, std::int64_t{64} << 20));
}

/// Pinned host memory: copies from and to it need no staging copy, and kernels reach it by its address. Errors: MemoryError,
/// DeviceError.
class Pinned {
 public:
  Pinned() = default;
  explicit Pinned(std::int64_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const cudaError_t status = cudaMallocHost(&data_, static_cast<std::size_t>(bytes));
    if (status == cudaSuccess) return;
    if (status != cudaErrorMemoryAllocation) check(status, "cudaMallocHost");
    cudaGetLastError();
    throw MemoryError("out of pinned memory: " + std::to_string(bytes) + " bytes of host memory are needed");
  }
  Pinned(Pinned&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pinned& operator=(Pinned&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pinned() {
    if (data_ != nullptr) cudaFreeHost(data_);
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::int64_t size() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// A point in a stream's work that others may wait for; waiting for one that was never recorded returns at once.
class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate"); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  /// Waits until all work queued before the event was recorded is done.
  void wait() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

 private:
  friend class Stream;
  cudaEvent_t event_ = nullptr;
};

/// A CUDA graph built as a sequence of nodes. Unlike a capture it disturbs nobody: during a capture, waiting for the device
/// fails in every other thread, and has been seen to crash there (driver 580).
class Nodes {
 public:
  Nodes() { check(cudaGraphCreate(&graph_, 0), "cudaGraphCreate"); }
  explicit Nodes(cudaGraph_t graph) : graph_(graph) {}
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;
  ~Nodes() { cudaGraphDestroy(graph_); }

  /// Appends the node that `make(node, graph, dependencies, their number)`, a CUDA call, creates.
  template <class F>
  void add(F make) {
    cudaGraphNode_t node = nullptr;
    check(make(&node, graph_, &last_, last_ == nullptr ? std::size_t{0} : std::size_t{1}), "cudaGraphAddNode");
    last_ = node;
  }
  cudaGraph_t graph() const { return graph_; }
  cudaGraphNode_t last() const { return last_; }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t last_ = nullptr;
};

/// A queue of kernels and copies, run in order on the device that was current when the stream was made.
class Stream {
 public:
  /// `with_default`: its work and that of the default stream wait for each other.
  explicit Stream(bool with_default = false) {
    check(cudaGetDevice(&device_), "cudaGetDevice");
    reads_host_ = has(cudaDevAttrPageableMemoryAccess), has_clusters_ = has(cudaDevAttrClusterLaunch);
    const unsigned flags = with_default ? cudaStreamDefault : cudaStreamNonBlocking;
    check(cudaStreamCreateWithFlags(&stream_, flags), "cudaStreamCreate");
  }
  Stream(Stream&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)), device_(other.device_), reads_host_(other.reads_host_),
        has_clusters_(other.has_clusters_) {}
  /// Waits for all queued work, so that its memory can be freed.
  ~Stream() {
    if (stream_ == nullptr) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  /// Queues a copy between device memory and pinned memory; the latter may be changed, or read, after `wait`.
  void copy(void* to, const void* from, std::int64_t bytes) const {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
  }
  /// Queues a copy from any host memory, which may be changed as soon as this returns, or from device memory. Waits for the
  /// copy where the device reads host memory directly: memory pinned by the caller or, on some systems, any.
  void write(void* to, const void* from, std::int64_t bytes) const {
    copy(to, from, bytes);
    const cudaMemoryType memory = attributes_of(from).type;
    if (memory != cudaMemoryTypeDevice && (reads_host_ || memory != cudaMemoryTypeUnregistered)) wait();
  }
  /// Whether this host memory is pinned, so that staging it in pinned memory gains nothing.
  bool copies_straight(const void* from) const { return attributes_of(from).type == cudaMemoryTypeHost; }
  /// Whether this is memory of the stream's device. Errors: DataError for memory of another device.
  bool holds(const void* at) const {
    if (at == nullptr) return false;
    const cudaPointerAttributes memory = attributes_of(at);
    if (memory.type != cudaMemoryTypeDevice) return false;
    if (memory.device == device_) return true;
    throw DataError("samples lie on device " + std::to_string(memory.device) + ", where device " + std::to_string(device_) +
                    " computes");
  }
  void clear(void* to, std::int64_t bytes) const {
    const OnDevice here(device_);
    check(cudaMemsetAsync(to, 0, static_cast<std::size_t>(bytes), stream_), "cudaMemsetAsync");
  }
  void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  void record(Event& event) const { check(cudaEventRecord(event.event_, stream_), "cudaEventRecord"); }
  /// Records an event, possibly as part of a recording of kernels alone: each replay then records it again.
  void record_within(Event& event) const {
    if (nodes_ != nullptr) nodes_->add([&](auto... place) { return cudaGraphAddEventRecordNode(place..., event.event_); });
    else record(event);
  }
  /// Makes work queued from now on wait for an event.
  void wait_for(const Event& event) const {
    check(cudaStreamWaitEvent(stream_, event.event_, 0), "cudaStreamWaitEvent");
  }
  /// Makes work queued from now on wait for that on the device's default stream, which callers that know no other stream use.
  /// Errors: DeviceError where another thread captures a stream that the default stream waits for.
  void wait_for_default(Event& event) const {
    const OnDevice here(device_);
    cudaStreamCaptureStatus status{};  // unlike recording, this query breaks no capture
    check(cudaStreamIsCapturing(cudaStreamLegacy, &status), "cudaStreamIsCapturing");
    check(cudaEventRecord(event.event_, cudaStreamLegacy), "cudaEventRecord");
    wait_for(event);
  }
  cudaStream_t handle() const { return stream_; }
  int device() const { return device_; }

  template <class... A>
  void launch(void (*kernel)(A...), std::int64_t blocks, int threads, A... arguments) const {
    void* values[] = {&arguments...};
    start(reinterpret_cast<const void*>(kernel), blocks, threads, values, 1);
  }
  /// Launches one cluster of blocks, which can wait for one another; of fewer where the device has no room for all.
  template <class... A>
  void launch_cluster(void (*kernel)(A...), int blocks, int threads, A... arguments) const {
    void* values[] = {&arguments...};
    const void* const function = reinterpret_cast<const void*>(kernel);
    const int cluster = has_clusters_ ? largest_cluster(function, blocks, threads) : 1;
    start(function, cluster, threads, values, cluster);
  }

  /// Queues the work that `record` asks of this stream, as one launch of a recording, which is made the first time.
  /// `kernels_alone`: the work includes no library's. Library work can only be captured; where another thread breaks the
  /// capture, as waiting for the device does, it is queued without a recording. The stream's device must be the current one.
  template <class F>
  void replay(class Recording& recording, bool kernels_alone, F record) const;

 private:
  static int largest_cluster(const void* kernel, int blocks, int threads);
  void start(const void* kernel, std::int64_t blocks, int threads, void** arguments, int cluster) const;
  template <class F>
  void capture(Recording& recording, F record) const;

  bool has(cudaDeviceAttr attribute) const {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, attribute, device_), "cudaDeviceGetAttribute");
    return value != 0;
  }
  static cudaPointerAttributes attributes_of(const void* at) {
    cudaPointerAttributes memory{};
    check(cudaPointerGetAttributes(&memory, at), "cudaPointerGetAttributes");
    return memory;
  }

  cudaStream_t stream_ = nullptr;
  int device_ = 0;
  bool reads_host_ = false, has_clusters_ = false;  ///< unpinned memory, too; of blocks
  mutable Nodes* nodes_ = nullptr;  ///< the graph being built, if any
};

/// A sequence of launches, recorded once and then launched together.
class Recording {
 public:
  Recording() = default;
  Recording(Recording&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  ~Recording() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }

 private:
  friend Stream;
  void make(cudaGraph_t of) { check(cudaGraphInstantiate(&graph_, of, 0), "cudaGraphInstantiate"); }
  cudaGraphExec_t graph_ = nullptr;
};

template <class F>
void Stream::replay(Recording& recording, bool kernels_alone, F record) const {
  if (recording.graph_ == nullptr && kernels_alone) {
    Nodes nodes;
    const SetWhile<Nodes*> adds(nodes_, &nodes);
    record();
    recording.make(nodes.graph());
  } else if (recording.graph_ == nullptr) {
    capture(recording, record);
    if (recording.graph_ == nullptr) return record();
  }
  check(cudaGraphLaunch(recording.graph_, stream_), "cudaGraphLaunch");
}

/// Makes the recording by a capture; leaves it empty where another thread breaks the capture.
template <class F>
void Stream::capture(Recording& recording, F record) const {
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus state = cudaStreamCaptureStatusActive;
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    record();
  } catch (...) {
    cudaStreamIsCapturing(stream_, &state);
    cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // the error of the broken capture
    if (state == cudaStreamCaptureStatusInvalidated) return;
    throw;
  }
  const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
  if (ended == cudaErrorStreamCaptureInvalidated) {
    cudaGetLastError();
    return;
  }
  check(ended, "cudaStreamEndCapture");
  const Nodes captured(graph);
  recording.make(captured.graph());
}

inline int Stream::largest_cluster(const void* kernel, int blocks, int threads) {
  cudaFuncAttributes compiled{};
  check(cudaFuncGetAttributes(&compiled, kernel), "cudaFuncGetAttributes");
  if (compiled.ptxVersion < 90) return 1;  // for an older device, where blocks cannot wait for one another (cluster_barrier)
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "cudaFuncSetAttribute");
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks)), config.blockDim = dim3(static_cast<unsigned>(threads));
  int most = 1;
  check(cudaOccupancyMaxPotentialClusterSize(&most, kernel, &config), "cudaOccupancyMaxPotentialClusterSize");
  return most < 1 ? 1 : most < blocks ? most : blocks;
}

inline void Stream::start(const void* kernel, std::int64_t blocks, int threads, void** arguments, int cluster) const {
  if (blocks == 0) return;
  const OnDevice here(device_);
  const dim3 grid(static_cast<unsigned>(blocks)), block(static_cast<unsigned>(threads));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  if (nodes_ != nullptr) {
    cudaKernelNodeParams node{};
    node.func = const_cast<void*>(kernel), node.gridDim = grid, node.blockDim = block, node.kernelParams = arguments;
    nodes_->add([&](auto... place) { return cudaGraphAddKernelNode(place..., &node); });
    if (cluster > 1)
      check(cudaGraphKernelNodeSetAttribute(nodes_->last(), attribute.id, &attribute.val), "cudaGraphKernelNodeSetAttribute");
    return;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = block, config.stream = stream_;
  config.attrs = &attribute, config.numAttrs = cluster > 1 ? 1 : 0;
  // Not <<<>>>, after which an error left by somebody else would be taken for this launch's.
  check(cudaLaunchKernelExC(&config, kernel, arguments), "kernel launch");
}

}  // namespace gradual::cuda
