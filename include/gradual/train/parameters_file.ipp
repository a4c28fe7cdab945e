#pragma once
#include <gradual/train/parameters_file.hpp>

#include <algorithm>

#include <gradual/autodiff/names_of_parameters.hpp>
#include <gradual/core/pattern.hpp>

namespace gradual::detail {

template <class Real>
void add_parameters(Checkpoint& file, std::span<const ParameterInfo> declared, std::span<const Real> values, DType type) {
  if (type != dtype_of<Real> && !(dtype_of<Real> == DType::f32 && is_small(type)))
    throw OptionError(std::string("saving parameters of ") + name_of(dtype_of<Real>) + " as " + name_of(type) +
                      ": files hold them as " + (dtype_of<Real> == DType::f32 ? "float, bf16 or f16" : "double"));
  for (const ParameterInfo& info : declared) {
    const auto own = values.first(static_cast<std::size_t>(info.shape.unit()));
    StoredTensor tensor = StoredTensor::of(extents(info.shape), own);
    tensor.dtype = type;
    file.add(info.name.string(), std::move(tensor));
    values = values.subspan(own.size());
  }
}

/// Errors: FileError for a NaN, with which every window would be dropped; an infinite value may be part of a mask.
template <class Real>
void check_are_numbers(const std::string& name, std::span<const Real> values) {
  const auto found = std::ranges::find_if(values, [](Real value) { return value != value; });
  if (found == values.end()) return;
  throw FileError("element " + std::to_string(found - values.begin()) + " of tensor '" + name + "' is not a number");
}

template <class Real>
void read_parameters(const Checkpoint& file, std::span<const ParameterInfo> declared, std::span<Real> values,
                     std::string_view pattern) {
  if (pattern != every_name) check_pattern("load: ", pattern, declared);
  std::vector<Real> read(values.begin(), values.end());
  in_file(file, [&] {
    for (auto to = read.begin(); const ParameterInfo& info : declared) {
      if (const std::string name = info.name.string(); matches(pattern, name)) {
        check_tensor(file, name, info.shape, file.type_within<Real>(name));
        const std::vector<Real> own = file.elements<Real>(name);
        check_are_numbers(name, std::span(own));
        std::ranges::copy(own, to);
      }
      to += info.shape.unit();
    }
  });
  std::ranges::copy(read, values.begin());
}

}  // namespace gradual::detail
