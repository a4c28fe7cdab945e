#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <gradual/cuda/runtime.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// What the host tells kernels before they begin. It is written into pinned memory, from which the first kernel reads it: so a
/// replay gets new values at no cost, whereas one kernel launch alone costs the host more than a replay of many.
struct alignas(16) Order {
  static constexpr int most_values = 8, room = 1024;
  struct Value {
    unsigned char* to;
    int begin, bytes;
  };
  Step step;
  std::int64_t check = 0;  ///< number of the check on which the step depends
  bool begins = false;     ///< a window begins: none of its losses is known
  int values = 0;          ///< number of values to be written, in order
  Value value[most_values] = {};
  unsigned char bytes[room] = {};
};

/// Samples few enough for a kernel to bring them: a copy would cost the host more. Addresses and sizes are multiples of 16.
struct FewSamples {
  static constexpr std::int64_t most_bytes = 64 * 1024;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t bytes = 0;
};

inline constexpr int order_threads = 1024, order_places = 32;

/// The most values that the kernel that reads an order also checks.
inline constexpr std::int64_t few_to_check = 1 << 15;

/// Reads the next of `order_places` orders and copies samples at the same time, then makes a check; launched as one block.
template <class T>
GRADUAL_KERNEL_OF(order_threads) void read_order(const T* orders, Heard* here, FewSamples samples, Check check) {
  const auto copy = [](void* to, const void* from, std::int64_t bytes) {
    for (std::int64_t i = thread_index(); i < bytes / 16; i += order_threads)
      static_cast<FourWords*>(to)[i] = static_cast<const FourWords*>(from)[i];
  };
  GRADUAL_SHARED FourWords read[sizeof(T) / sizeof(FourWords)];
  copy(read, orders + here->orders % order_places, sizeof(T));
  copy(samples.to, samples.from, samples.bytes);
  barrier();
  const T& order = reinterpret_cast<const T&>(read);
  for (int v = 0; v < order.values; ++v) {
    const auto value = order.value[v];
    for (int i = thread_index(); i < value.bytes; i += order_threads) value.to[i] = order.bytes[value.begin + i];
    barrier();  // a later value may have the same place
  }
  if (thread_index() == 0) {
    here->step = order.step;
    here->step.skipped = order.check != 0 && order.check == here->failed;
    here->check = order.check;
    if (order.begins) here->lost = false;
    ++here->orders;
  }
  barrier();
  if (check.count > 0) look_for_not_finite(check, *here);
}

/// Orders on their way to the device.
class Orders {
 public:
  Orders() : places_(order_places * std::int64_t{sizeof(Order)}), here_(sizeof(Heard)) {}

  Heard* here() const { return reinterpret_cast<Heard*>(here_.data()); }
  const Step* step() const { return &here()->step; }

  /// Adds bytes for device memory to the next order. Returns false where it has no room for them.
  bool take(void* to, const void* bytes, std::int64_t count) {
    if (next_.values == Order::most_values || count > Order::room - used_) return false;
    next_.value[next_.values++] = {static_cast<unsigned char*>(to), used_, static_cast<int>(count)};
    std::memcpy(next_.bytes + used_, bytes, static_cast<std::size_t>(count));
    used_ += static_cast<int>(count);
    return true;
  }

  /// Gives an order by `launch(read)`, which calls `read()`, at once or within a recording, before it launches other kernels.
  template <class F>
  void give(const Stream& stream, const Step& step, std::int64_t check_number, bool begins, const FewSamples& samples,
            const Check& check, F launch) {
    constexpr std::int64_t half = order_places / 2;
    Order* const orders = reinterpret_cast<Order*>(places_.data());
    Event& read = read_[given_ / half % 2];
    if (given_ % half == 0) read.wait();  // until the orders of the previous round were read
    next_.step = step, next_.check = check_number, next_.begins = begins;
    std::memcpy(static_cast<void*>(orders + given_ % order_places), &next_, sizeof next_);
    try {
      launch([&] {
        stream.launch(&read_order<Order>, 1, order_threads, static_cast<const Order*>(orders), here(), samples, check);
      });
    } catch (...) {
      start_again(stream);
      throw;
    }
    if (++given_ % half == 0) stream.record(read);
    next_.values = 0, used_ = 0;
  }

 private:
  /// Starts afresh where it is unknown whether an order was read.
  void start_again(const Stream& stream) {
    given_ = 0;
    try {
      stream.wait();
      stream.clear(here(), offsetof(Heard, lost));  // all but `lost`: the window may go on
    } catch (const Error&) {  // the device is lost, which every later call reports
    }
  }

  static_assert(std::is_trivially_copyable_v<Order>);
  Pinned places_;
  Memory here_;
  Order next_;
  int used_ = 0;  // bytes of next_
  std::int64_t given_ = 0;
  Event read_[2];  // all orders in one half of the places
};

}  // namespace gradual::cuda
