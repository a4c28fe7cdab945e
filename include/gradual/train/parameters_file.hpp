#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <gradual/eager/parameters.hpp>
#include <gradual/files/checkpoint.hpp>
#include <gradual/train/parameters_view.hpp>

namespace gradual {

/// The pattern that every name matches.
inline constexpr std::string_view every_name = "*";

namespace detail {

/// Adds parameters, stored one after another, by name, to be written in `type`. Errors: FileError for a name that is taken;
/// OptionError for a type that is neither theirs nor, for floats, a 16-bit one.
template <class Real>
void add_parameters(Checkpoint& file, std::span<const ParameterInfo> declared, std::span<const Real> values,
                    DType type);

/// Reads parameters whose names match `pattern`; a file's floats can be read as doubles. Errors: FileError naming what is
/// missing, has another shape or is NaN, OptionError for a pattern that matches no parameter's name; nothing is changed then.
template <class Real>
void read_parameters(const Checkpoint& file, std::span<const ParameterInfo> declared, std::span<Real> values,
                     std::string_view pattern);

}  // namespace detail

/// Writes all parameters of a net by name, in addition to what `file` holds; rounds floats to `type`, DType::bf16 or
/// DType::f16. Errors: FileError, also where `file` has a tensor of the same name or `type` cannot hold a parameter;
/// OptionError for another type; MemoryError.
template <class Net>
void save_parameters(const std::string& path, ParametersView<Net> parameters, Checkpoint file = {},
                     DType type = dtype_of<typename Net::Real>) {
  or_memory_error("saving parameters", [&] {
    detail::add_parameters<typename Net::Real>(file, Net::declared(), parameters.values(), type);
    save(path, file);
  });
}
template <class Net>
void save_parameters(const std::string& path, const ParametersCopy<Net>& parameters, Checkpoint file = {},
                     DType type = dtype_of<typename Net::Real>) {
  save_parameters<Net>(path, ParametersView<Net>(parameters), std::move(file), type);
}
/// Does the same for an eager model. Errors: also TapeError where the parameters have no values yet.
template <class Real>
void save_parameters(const std::string& path, const ParametersIn<Real>& parameters, Checkpoint file = {},
                     DType type = dtype_of<Real>) {
  parameters.require_values();
  or_memory_error("saving parameters", [&] {
    std::vector<Real> values(static_cast<std::size_t>(parameters.offsets().back()));
    parameters.copy_to(values);
    detail::add_parameters<Real>(file, parameters.declared(), values, type);
    save(path, file);
  });
}

/// Fills the parameters of a net by name: all, or those that match `pattern`, in which '*' stands for any characters, such as
/// "encoder/*". Leaves all others, and other tensors, alone. Errors: FileError naming what is missing, has another shape or is
/// NaN, OptionError for a pattern that matches no parameter's name; nothing is changed then. MemoryError.
template <class Net>
void load_parameters(const Checkpoint& checkpoint, ParametersView<Net> parameters,
                     std::string_view pattern = every_name) {
  or_memory_error("loading parameters",
                  [&] { detail::read_parameters(checkpoint, Net::declared(), parameters.values(), pattern); });
}
/// Does the same for an eager model, whose parameters then have values. Errors: also those of `Parameters::initialize`;
/// TapeError for a pattern where they have none yet.
template <class Real>
void load_parameters(const Checkpoint& checkpoint, ParametersIn<Real>& parameters,
                     std::string_view pattern = every_name) {
  if (parameters.initialized() || pattern != every_name) parameters.require_values();
  or_memory_error("loading parameters", [&] {
    std::int64_t elements = 0;
    for (const ParameterInfo& info : parameters.declared()) elements += info.shape.unit();
    std::vector<Real> values(static_cast<std::size_t>(elements));
    if (parameters.initialized()) parameters.copy_to(values);
    detail::read_parameters<Real>(checkpoint, parameters.declared(), values, pattern);
    if (!parameters.initialized()) parameters.initialize(0);
    parameters.copy_from(values);
  });
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/parameters_file.ipp>
#else
namespace gradual::detail {
extern template void add_parameters(Checkpoint&, std::span<const ParameterInfo>, std::span<const float>, DType);
extern template void add_parameters(Checkpoint&, std::span<const ParameterInfo>, std::span<const double>, DType);
extern template void read_parameters(const Checkpoint&, std::span<const ParameterInfo>, std::span<float>, std::string_view);
extern template void read_parameters(const Checkpoint&, std::span<const ParameterInfo>, std::span<double>, std::string_view);
}  // namespace gradual::detail
#endif
