#pragma once
#include <gradual/train/frozen.hpp>

#include <gradual/autodiff/names_of_parameters.hpp>
#include <gradual/core/pattern.hpp>

namespace gradual {

GRADUAL_ONCE Frozen::Frozen(const std::vector<std::string>& patterns, std::span<const ParameterInfo> parameters) {
  for (const std::string& pattern : patterns) detail::check_pattern("freeze: ", pattern, parameters);
  std::int64_t begin = 0;
  for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
    const ParameterInfo& parameter = parameters[static_cast<std::size_t>(p)];
    const std::int64_t count = parameter.shape.unit();
    bool frozen = false;
    for (const std::string& pattern : patterns) frozen |= matches(pattern, parameter.name.view());
    if (frozen) {
      parameters_.push_back(p);
      elements_ += count;
    } else if (!free_.empty() && free_.back().end == begin) {
      free_.back().end += count;
    } else {
      free_.push_back({begin, begin + count});
    }
    begin += count;
  }
}

GRADUAL_ONCE std::span<const int> Frozen::parameters() const { return parameters_; }

GRADUAL_ONCE std::span<const Frozen::Range> Frozen::free() const { return free_; }

}  // namespace gradual
