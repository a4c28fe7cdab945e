#pragma once
#include <gradual/train/parameters_file.hpp>

#include <algorithm>

#include <gradual/autodiff/names_of_parameters.hpp>
#include <gradual/core/pattern.hpp>

namespace gradual::detail {

template <class Real>
void add_parameters(Checkpoint& file, std::span<const ParameterInfo> declared, std::span<const Real> values) {
  for (const ParameterInfo& info : declared) {
    const auto own = values.first(static_cast<std::size_t>(info.shape.unit()));
    file.add(info.name.string(), StoredTensor::of(extents(info.shape), own));
    values = values.subspan(own.size());
  }
}

template <class Real>
void read_parameters(const Checkpoint& file, std::span<const ParameterInfo> declared, std::span<Real> values,
                     std::string_view pattern) {
  if (pattern != every_name) check_pattern("load: ", pattern, declared);
  in_file(file, [&] {
    for (const ParameterInfo& info : declared)
      if (matches(pattern, info.name.view()))
        check_tensor(file, info.name.string(), info.shape, file.type_within<Real>(info.name.string()));
  });
  for (const ParameterInfo& info : declared) {
    const auto own = values.first(static_cast<std::size_t>(info.shape.unit()));
    if (matches(pattern, info.name.view())) std::ranges::copy(file.elements<Real>(info.name.string()), own.begin());
    values = values.subspan(own.size());
  }
}

}  // namespace gradual::detail
