#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <gradual/cuda/launch.hpp>
#include <gradual/cuda/numerics_check.hpp>
#include <gradual/eager/accelerator.hpp>

namespace gradual::cuda {

template <class Ops>
class EagerExecutor;

/// An NVIDIA GPU as eager tensors see it: all work goes through one stream. `Ops`: the ops that have kernels.
template <class Ops>
class EagerDevice final : public gradual::eager::Accelerator {
 public:
  /// Errors: DeviceError, NumericsError.
  explicit EagerDevice(int index) : index_(checked(index)), name_("cuda:" + std::to_string(index)) {
    const OnDevice here(index_);
    check_numerics();
    stream_.emplace(true);  // tensors' memory may be given to sessions as samples on the device
    steps_ = Memory(2 * sizeof(Step) + sizeof(Heard));
    set_step(0, {.batch = 1});
  }

  const char* name() const override { return name_.c_str(); }
  std::unique_ptr<gradual::eager::Piece> take(std::int64_t bytes) override {
    const OnDevice here(index_);
    return std::make_unique<gradual::eager::PieceOf<Memory>>(bytes);
  }
  bool holds(const void* at) const override { return stream_->holds(at); }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    const OnDevice here(index_);
    if (bytes > 0) stream_->write(to, from, bytes);
  }
  void read(void* host, const void* from, std::int64_t bytes) override {
    const OnDevice here(index_);
    stream_->copy(host, from, bytes);
    stream_->wait();
  }
  void clear(void* to, std::int64_t bytes) override {
    if (bytes > 0) stream_->clear(to, bytes);
  }
  void add(float* to, const float* from, std::int64_t count) override {
    launch(&cuda::add<float, float>, count, to, from, count);
  }
  void add(double* to, const double* from, std::int64_t count) override {
    launch(&cuda::add<double, double>, count, to, from, count);
  }
  bool all_finite(const float* values, std::int64_t count) override { return no_other_than_finite(values, count); }
  bool all_finite(const double* values, std::int64_t count) override { return no_other_than_finite(values, count); }
  std::unique_ptr<gradual::eager::Executor> executor(const Device& device) override {
    return std::make_unique<EagerExecutor<Ops>>(device, *this);
  }

  /// Launches a kernel with a thread for each of `work` items, or with many threads that take many items each.
  template <class... A>
  void launch(void (*kernel)(A...), std::int64_t work, A... arguments) {
    constexpr std::int64_t most = 256;
    const std::int64_t threads = std::min(most, (work + warp_size - 1) / warp_size * warp_size);
    if (work > 0) stream_->launch(kernel, blocks_for(work, threads), static_cast<int>(threads), arguments...);
  }
  /// Launches a kernel with a block of threads for each of `blocks` items.
  template <class... A>
  void launch_blocks(void (*kernel)(A...), std::int64_t blocks, int threads, A... arguments) {
    stream_->launch(kernel, blocks_for(blocks, 1), threads, arguments...);
  }
  /// Calls f(launch of kernels for samples in a window).
  template <class F>
  void in_window(const Step& step, std::byte* workspace, F f) {
    set_step(1, step);
    StepArguments arguments;
    arguments.workspace = workspace;
    f(Launch{*stream_, arguments, steps() + 1, step.batch});
  }
  /// The same for kernels that take the sizes of the whole batch, as one sample.
  template <class F>
  void whole(F f) {
    f(Launch{*stream_, StepArguments{}, steps(), 1});
  }

 private:
  static int checked(int index) {
    require_device();
    const int count = device_count();
    if (index < 0 || index >= count)
      throw DeviceError("Device::cuda(" + std::to_string(index) + "): " + std::to_string(count) +
                        " CUDA devices were found");
    return index;
  }
  Step* steps() const { return reinterpret_cast<Step*>(steps_.data()); }
  void set_step(int which, const Step& step) const {
    stream_->launch(&cuda::set_step<Step>, 1, 1, steps() + which, step);
  }

  template <class T>
  bool no_other_than_finite(const T* values, std::int64_t count) {
    Heard* const heard = reinterpret_cast<Heard*>(steps() + 2);
    clear(heard, sizeof(Heard));
    launch(&find_not_finite<Heard>, count, Check::of(values, count, false, &heard->orders), heard);
    Heard result;
    read(&result, heard, sizeof(Heard));
    return !result.step.skipped;
  }

  int index_;
  std::string name_;
  std::optional<Stream> stream_;
  Memory steps_;  // for `whole`, for `in_window`, and then the result of a check
};

}  // namespace gradual::cuda
