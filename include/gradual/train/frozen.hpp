#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/pattern.hpp>

namespace gradual {

/// Parameters that an update must leave alone. An update runs over all parameters as one row; while it does, the frozen
/// ones, their gradients and their state are zero, so that no norm sees them, and what they were is kept aside.
class Frozen {
 public:
  /// `parameters`: as declared. Errors: OptionError where a pattern is no parameter's name, with the names there are.
  [[gnu::cold]] Frozen(const std::vector<std::string>& patterns, std::span<const ParameterInfo> parameters) {
    for (const std::string& pattern : patterns) {
      bool found = false;
      for (const ParameterInfo& parameter : parameters) found |= matches(pattern, parameter.name.view());
      if (!found)
        throw OptionError("freeze: no parameter is named '" + pattern + "'; there are " + names_of(parameters));
    }
    std::int64_t first = 0;
    for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
      const ParameterInfo& parameter = parameters[static_cast<std::size_t>(p)];
      bool frozen = false;
      for (const std::string& pattern : patterns) frozen |= matches(pattern, parameter.name.view());
      if (frozen) ranges_.push_back({p, first, parameter.shape.unit()});
      first += parameter.shape.unit();
    }
  }

  bool contains(int parameter) const {
    for (const Range& range : ranges_)
      if (range.parameter == parameter) return true;
    return false;
  }
  std::int64_t elements() const {
    std::int64_t sum = 0;
    for (const Range& range : ranges_) sum += range.count;
    return sum;
  }

  /// Copies what is frozen to `aside`, elements() floats for each array but the gradients, and clears it. `arrays`:
  /// parameters, gradients, then each state, parameter after parameter.
  template <class Queue>
  void keep(const Queue& queue, std::span<float* const> arrays, float* aside) const {
    for_each(arrays, [&](float* values, std::int64_t count, bool is_gradient) {
      if (!is_gradient) queue.copy(std::exchange(aside, aside + count), values, count * 4);
      queue.clear(values, count * 4);
    });
  }
  /// Copies it back. The gradients stay zero.
  template <class Queue>
  void restore(const Queue& queue, std::span<float* const> arrays, const float* aside) const {
    for_each(arrays, [&](float* values, std::int64_t count, bool is_gradient) {
      if (!is_gradient) queue.copy(values, std::exchange(aside, aside + count), count * 4);
    });
  }

 private:
  struct Range {
    int parameter;
    std::int64_t first, count;
  };

  template <class F>
  void for_each(std::span<float* const> arrays, F f) const {
    for (const Range& range : ranges_)
      for (std::size_t a = 0; a < arrays.size(); ++a) f(arrays[a] + range.first, range.count, a == 1);
  }

  [[gnu::cold]] static std::string names_of(std::span<const ParameterInfo> parameters) {
    std::string names;
    for (const ParameterInfo& parameter : parameters)
      names += (names.empty() ? "'" : ", '") + parameter.name.string() + "'";
    return names;
  }

  std::vector<Range> ranges_;
};

}  // namespace gradual
