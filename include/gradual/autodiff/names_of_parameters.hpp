#pragma once
#include <span>
#include <string_view>

#include <gradual/autodiff/tape.hpp>

namespace gradual::detail {

/// Throws an OptionError for a name that no parameter has. `by`: the option or function that named it, as in "freeze: ".
[[noreturn, gnu::cold]] void refuse_name(std::string_view name, std::span<const ParameterInfo> parameters, const char* by = "");

/// Checks that a pattern matches a parameter's name. Errors: OptionError. `by`: as `refuse_name`.
void check_pattern(const char* by, std::string_view pattern, std::span<const ParameterInfo> parameters);

/// Checks the position of a parameter. Errors: OptionError for one outside [0, count).
void check_position(int index, int count);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/names_of_parameters.ipp>
#endif
