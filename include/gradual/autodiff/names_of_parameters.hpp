#pragma once
#include <span>
#include <string_view>

#include <gradual/autodiff/tape.hpp>

namespace gradual::detail {

/// Errors: OptionError, always. `by`: who asked, as "freeze: ".
[[noreturn, gnu::cold]] void refuse_name(std::string_view name, std::span<const ParameterInfo> parameters, const char* by = "");

/// Errors: OptionError where a pattern is no parameter's name. `by`: as `refuse_name`.
void check_pattern(const char* by, std::string_view pattern, std::span<const ParameterInfo> parameters);

/// Errors: OptionError for a position that none has.
void check_position(int index, int count);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/names_of_parameters.ipp>
#endif
