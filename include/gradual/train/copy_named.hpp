#pragma once
#include <algorithm>
#include <span>
#include <string_view>

#include <gradual/autodiff/names_of_parameters.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/pattern.hpp>

namespace gradual::detail {

/// Sets those of `values`, one parameter after another as declared, that match `pattern` to the values of the same names in
/// `others`. Errors: OptionError for a pattern that matches no parameter, or a name that the others lack; ShapeError.
template <class Real, class Others>
void copy_named(std::span<const ParameterInfo> declared, std::span<Real> values, const Others& others,
                std::string_view pattern) {
  check_pattern("set_parameters: ", pattern, declared);
  for (const ParameterInfo& info : declared) {
    const std::span<Real> own = values.first(static_cast<std::size_t>(info.shape.unit()));
    values = values.subspan(own.size());
    if (!matches(pattern, info.name.view())) continue;
    const auto other = others[info.name.view()];
    if (!(other.shape == info.shape))
      throw ShapeError((Message() << "set_parameters: '" << info.name.view() << "' is " << info.shape << ", the given one "
                                  << other.shape)
                           .string());
    std::ranges::copy(std::span<const Real>(other.values), own.begin());
  }
}

}  // namespace gradual::detail
