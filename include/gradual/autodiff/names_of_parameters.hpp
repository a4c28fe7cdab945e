#pragma once
#include <span>
#include <string>
#include <string_view>

#include <gradual/autodiff/tape.hpp>

namespace gradual::detail {

/// 'hidden/weight', 'hidden/bias', ...
[[gnu::cold]] inline std::string names_of(std::span<const ParameterInfo> parameters) {
  std::string names;
  for (const ParameterInfo& parameter : parameters) names += (names.empty() ? "'" : ", '") + parameter.name.string() + "'";
  return names;
}

/// Errors: OptionError, always.
[[noreturn, gnu::cold]] inline void refuse_name(std::string_view name, std::span<const ParameterInfo> parameters) {
  throw OptionError("no parameter is named '" + std::string(name) + "'; there are " +
                    (parameters.empty() ? "none" : names_of(parameters)));
}

/// Errors: OptionError for a position that none has.
inline void check_position(int index, int count) {
  if (index < 0 || index >= count) throw OptionError("parameter " + std::to_string(index) + " of " + std::to_string(count));
}

}  // namespace gradual::detail
