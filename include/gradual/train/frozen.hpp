#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/core/cpu/part.hpp>

namespace gradual {

/// Parameters that an update must not change. An update treats all parameters as one row. If it reads more than one element at
/// a time, frozen parameters are kept aside while it runs and they, their gradients and their state are set to zero, so that no
/// norm includes them.
class Frozen {
 public:
  /// `parameters`: as declared. Errors: OptionError where a pattern matches no parameter's name, listing the names there are.
  Frozen(const std::vector<std::string>& patterns, std::span<const ParameterInfo> parameters);

  bool contains(int parameter) const {
    return std::find(parameters_.begin(), parameters_.end(), parameter) != parameters_.end();
  }
  std::span<const int> parameters() const;
  std::int64_t elements() const { return elements_; }
  using Range = cpu::Part::Range;
  /// Returns the ranges of all elements that are not frozen.
  std::span<const Range> free() const;
  /// Whether f(range) holds for all of them.
  template <class F>
  bool all_of_free(F f) const {
    return std::all_of(free_.begin(), free_.end(), f);
  }

  /// Returns the bytes that `leave_out` keeps aside. `arrays`, `part`: as for that.
  template <class Part>
  std::int64_t bytes(int arrays, Part part) const {
    std::int64_t sum = 0;
    for_each(arrays, part, [&](std::span<std::byte> values, bool is_gradient) { sum += is_gradient ? 0 : std::ssize(values); });
    return sum;
  }
  /// Runs an update of a rule on what is not frozen; the rest, and states that follow it, are restored even after an error.
  /// `arrays`: the parameters, the gradients, then each state; `part(a, p)`: the bytes of parameter p in array a; `aside`:
  /// memory of `bytes(arrays, part)`; `following`: a bit for each state that follows the parameters.
  template <class Queue, class Part, class F>
  void leave_out(const Queue& queue, int arrays, std::uint64_t following, Part part, std::byte* aside, F update) const {
    const auto bytes_of = [](std::span<std::byte> values) { return static_cast<std::int64_t>(values.size()); };
    std::byte* end = aside;
    for_each(arrays, part, [&](std::span<std::byte> values, bool is_gradient) {
      if (!is_gradient) queue.copy(std::exchange(end, end + values.size()), values.data(), bytes_of(values));
      queue.clear(values.data(), bytes_of(values));
    });
    const auto put_back = [&] {
      for_each(arrays, part, [&](std::span<std::byte> values, bool is_gradient) {
        if (!is_gradient) queue.copy(values.data(), std::exchange(aside, aside + values.size()), bytes_of(values));
      });
      follow(queue, arrays, following, part);
    };
    try {
      update();
    } catch (...) {
      put_back();
      throw;
    }
    put_back();
  }
  /// Sets the frozen part of states that follow to that of the parameters; arguments as for `leave_out`.
  template <class Queue, class Part>
  void follow(const Queue& queue, int arrays, std::uint64_t following, Part part) const {
    for (int a = 2; a < arrays; ++a)
      if ((following >> (a - 2) & 1) != 0) copy(queue, a, 0, part);
  }
  /// Copies the frozen part of array `from`, the parameters or a state that follows them, to array `to`.
  template <class Queue, class Part>
  void copy(const Queue& queue, int to, int from, Part part) const {
    for (const int parameter : parameters_) {
      const std::span<std::byte> values = part(from, parameter);
      queue.copy(part(to, parameter).data(), values.data(), static_cast<std::int64_t>(values.size()));
    }
  }

 private:
  template <class Part, class F>
  void for_each(int arrays, Part part, F f) const {
    for (const int parameter : parameters_)
      for (int a = 0; a < arrays; ++a) f(part(a, parameter), a == 1);
  }

  std::vector<int> parameters_;
  std::vector<Range> free_;
  std::int64_t elements_ = 0;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/frozen.ipp>
#endif
