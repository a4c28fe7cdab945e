#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include <gradual/eager/parameters.hpp>
#include <gradual/train/checkpoint.hpp>
#include <gradual/train/parameters_view.hpp>

namespace gradual {

namespace detail {

[[gnu::cold]] inline void add_parameters(Checkpoint& file, std::span<const ParameterInfo> declared,
                                         std::span<const float> values) {
  for (const ParameterInfo& info : declared) {
    const auto own = values.first(static_cast<std::size_t>(info.shape.unit()));
    file.add(info.name.string(), {extents(info.shape), {own.begin(), own.end()}});
    values = values.subspan(own.size());
  }
}
/// Errors: FileError naming what is missing or has another shape; nothing is changed then.
[[gnu::cold]] inline void read_parameters(const Checkpoint& file, std::span<const ParameterInfo> declared,
                                          std::span<float> values) {
  for (const ParameterInfo& info : declared) check_tensor(file, info.name.string(), info.shape);
  auto to = values.begin();
  for (const ParameterInfo& info : declared) {
    const std::vector<float>& stored = file.tensor(info.name.string()).values;
    to = std::copy(stored.begin(), stored.end(), to);
  }
}

}  // namespace detail

/// Writes all parameters of a net by name, beside what `file` holds already. Errors: FileError, also where it holds a
/// tensor of the same name; MemoryError.
template <class Net>
[[gnu::cold]] void save_parameters(const std::string& path, ParametersView<Net> parameters, Checkpoint file = {}) {
  or_memory_error("saving parameters", [&] {
    detail::add_parameters(file, Net::declared(), parameters.values());
    save(path, file);
  });
}
template <class Net>
[[gnu::cold]] void save_parameters(const std::string& path, const ParametersCopy<Net>& parameters, Checkpoint file = {}) {
  save_parameters<Net>(path, ParametersView<Net>(parameters), std::move(file));
}
/// The same of an eager model. Errors: also TapeError where the parameters have no values yet.
[[gnu::cold]] inline void save_parameters(const std::string& path, const Parameters& parameters, Checkpoint file = {}) {
  parameters.require_values();
  or_memory_error("saving parameters", [&] {
    std::vector<float> values(static_cast<std::size_t>(parameters.offsets().back()));
    parameters.copy_to(values);
    detail::add_parameters(file, parameters.declared(), values);
    save(path, file);
  });
}

/// Fills all parameters of a net by name. Errors: FileError naming what is missing or has another shape; nothing is
/// changed then. Other tensors are left alone. MemoryError.
template <class Net>
[[gnu::cold]] void load_parameters(const Checkpoint& checkpoint, ParametersView<Net> parameters) {
  or_memory_error("loading parameters",
                  [&] { detail::read_parameters(checkpoint, Net::declared(), parameters.values()); });
}
/// The same of an eager model, whose parameters then have values. Errors: also those of `Parameters::initialize`.
[[gnu::cold]] inline void load_parameters(const Checkpoint& checkpoint, Parameters& parameters) {
  if (parameters.initialized()) parameters.require_values();
  or_memory_error("loading parameters", [&] {
    std::int64_t elements = 0;
    for (const ParameterInfo& info : parameters.declared()) elements += info.shape.unit();
    std::vector<float> values(static_cast<std::size_t>(elements));
    detail::read_parameters(checkpoint, parameters.declared(), values);
    if (!parameters.initialized()) parameters.initialize(0);
    parameters.copy_from(values);
  });
}

}  // namespace gradual
