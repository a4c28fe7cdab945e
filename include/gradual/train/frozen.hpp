#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/core/pattern.hpp>

namespace gradual {

/// Parameters that an update must leave alone. An update runs over all parameters as one row; while it does, the frozen
/// ones, their gradients and their state are zero, so that no norm sees them, and what they were is kept aside.
template <class Net, int States>
class Frozen {
 public:
  /// Errors: OptionError where a pattern is no parameter's name, with the names there are.
  [[gnu::cold]] explicit Frozen(const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      bool found = false;
      for (int p = 0; p < Net::parameter_count; ++p) found |= matches(pattern, Net::parameter(p).name.view());
      if (!found) throw OptionError("freeze: no parameter is named '" + pattern + "'; there are " + known_names());
    }
    for (int p = 0; p < Net::parameter_count; ++p) {
      bool frozen = false;
      for (const std::string& pattern : patterns) frozen |= matches(pattern, Net::parameter(p).name.view());
      if (frozen) ranges_.push_back({Net::parameter_offset(p), Net::parameter(p).shape.unit()});
    }
  }

  bool contains(int parameter) const {
    for (const Range& range : ranges_)
      if (range.first == Net::parameter_offset(parameter) && range.count == Net::parameter(parameter).shape.unit()) return true;
    return false;
  }
  std::int64_t elements() const {
    std::int64_t sum = 0;
    for (const Range& range : ranges_) sum += range.count;
    return sum;
  }

  /// Copies what is frozen to `aside` and clears it. `arenas`: parameters, gradients, then each state, `arena` bytes
  /// apart.
  template <class Queue>
  void keep(const Queue& queue, std::byte* arenas, std::int64_t arena, std::byte* aside) const {
    for_each(arenas, arena, [&](std::byte* values, std::int64_t bytes, bool is_gradient) {
      if (!is_gradient) queue.copy(std::exchange(aside, aside + bytes), values, bytes);
      queue.clear(values, bytes);
    });
  }
  /// Copies it back. The gradients stay zero.
  template <class Queue>
  void restore(const Queue& queue, std::byte* arenas, std::int64_t arena, const std::byte* aside) const {
    for_each(arenas, arena, [&](std::byte* values, std::int64_t bytes, bool is_gradient) {
      if (!is_gradient) queue.copy(values, std::exchange(aside, aside + bytes), bytes);
    });
  }

 private:
  struct Range {
    std::int64_t first, count;
  };

  template <class F>
  void for_each(std::byte* arenas, std::int64_t arena, F f) const {
    for (const Range& range : ranges_)
      for (int a = 0; a < 2 + States; ++a)
        f(arenas + a * arena + range.first * 4, range.count * 4, a == 1);
  }

  [[gnu::cold]] static std::string known_names() {
    std::string names;
    for (int p = 0; p < Net::parameter_count; ++p)
      names += (p == 0 ? "'" : ", '") + Net::parameter(p).name.string() + "'";
    return names;
  }

  std::vector<Range> ranges_;
};

}  // namespace gradual
