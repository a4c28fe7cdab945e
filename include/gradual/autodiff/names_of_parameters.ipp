#pragma once
#include <gradual/autodiff/names_of_parameters.hpp>

#include <string>

#include <gradual/core/no_such_name.hpp>
#include <gradual/core/pattern.hpp>

namespace gradual::detail {

GRADUAL_ONCE void refuse_name(std::string_view name, std::span<const ParameterInfo> parameters, const char* by) {
  throw OptionError(by + no_such_name("parameter", name, parameters, [](const ParameterInfo& p) { return p.name.view(); }));
}

GRADUAL_ONCE void check_pattern(const char* by, std::string_view pattern, std::span<const ParameterInfo> parameters) {
  for (const ParameterInfo& parameter : parameters)
    if (matches(pattern, parameter.name.view())) return;
  refuse_name(pattern, parameters, by);
}

GRADUAL_ONCE void check_position(int index, int count) {
  if (index < 0 || index >= count)
    throw OptionError("no parameter " + std::to_string(index) + ": there are " + std::to_string(count) + ", counted from 0");
}

}  // namespace gradual::detail
